import type { Severity } from '@krmhub/schema/diagnostic';

/** What is wrong with a kustomization, Composition, Kptfile or functionConfig, beside what the YAML reader refuses. */
export const LAYER_CODES = {
  'layer/not-found': {
    severity: 'error',
    summary: 'A file or folder that an entry names does not exist.',
    fix: 'Correct the path. It is relative to the folder of the file that names it.',
  },
  'layer/no-kustomization': {
    severity: 'error',
    summary: 'A folder that an entry names has no kustomization, or several.',
    fix: 'Keep exactly one kustomization.yaml, kustomization.yml or Kustomization in the folder.',
  },
  'layer/kind': {
    severity: 'error',
    summary: 'The file has another kind than its place requires.',
    fix: 'Name components in `components`, and kustomizations in `resources`.',
  },
  'layer/wrong-type': {
    severity: 'error',
    summary: 'The value has the wrong type.',
    fix: 'Write a value of the type that the message names.',
  },
  'layer/duplicate-field': {
    severity: 'error',
    summary: 'A field is written twice in different cases, and kustomize reads both.',
    fix: 'Remove one of the two fields.',
  },
  'layer/outside': {
    severity: 'error',
    summary: 'A file is outside of the folder of its kustomization, or a base is outside of its repository.',
    fix: 'Move the file into the folder of the kustomization, or name its folder as a base.',
  },
  'layer/circle': {
    severity: 'error',
    summary: 'A kustomization, Composition or base refers back to itself.',
    fix: 'Remove one of the references.',
  },
  'layer/limit': {
    severity: 'error',
    summary: 'The package has more layers, files or functions than the limit.',
    fix: 'Name a smaller part of the package.',
  },
  'layer/remote': {
    severity: 'error',
    summary: 'A remote base or file was not read, so its functions are unknown.',
    fix: 'Check the URL and the network, or copy the base into the package.',
  },
  'layer/not-a-config': {
    severity: 'error',
    summary: 'A document is not a functionConfig: it has no apiVersion or no kind.',
    fix: 'Write apiVersion and kind of the function, for example `apiVersion: example.com/v1` and `kind: SetLabels`.',
  },
  'layer/runtime': {
    severity: 'error',
    summary: 'A functionConfig names its own runtime in a form that is not understood.',
    fix: 'Write `container: {image: …}`, `exec: {path: …}` or `starlark: {path: …}`, or remove it to use a catalog.',
  },
  'layer/two-runtimes': {
    severity: 'error',
    summary: 'A functionConfig names its own runtime in two places.',
    fix: 'Remove the `runtime` field or the annotation.',
  },
  'layer/changed-config': {
    severity: 'error',
    summary:
      'A kustomization of functionConfigs changes or generates them, so what runs is known only after it is built.',
    fix: 'Write the functionConfigs as files, without patches, generators or transformers.',
  },
  'layer/module': {
    severity: 'error',
    summary: 'A module, an override or the order of a Composition is not valid.',
    fix: 'Give modules of one kind different names, and name each module in `moduleOrder` once.',
  },
  'layer/import-path': {
    severity: 'error',
    summary: 'An import of a Composition is not valid.',
    fix: 'Write `- path: ../app/composition.yaml`, with `importMode: prepend` or `append`.',
  },
  'layer/catalog': {
    severity: 'error',
    summary: 'A reference to a catalog is not valid.',
    fix: 'Write a path, https://…, git::… or oci://….',
  },
  'layer/pipeline': {
    severity: 'error',
    summary: 'An entry of the pipeline of a Kptfile is not valid.',
    fix: 'Give each entry either `image` or `exec`, and at most one of `configPath` and `configMap`.',
  },
} as const satisfies Record<`layer/${string}`, { severity: Severity; summary: string; fix: string }>;

export type LayerCode = keyof typeof LAYER_CODES;

import type { Severity } from '@krmhub/schema/diagnostic';

/** What is wrong with a kustomization, Composition, Kptfile or functionConfig, beside what the YAML reader refuses. */
export const CONFIG_CODES = {
  'config/not-found': {
    severity: 'error',
    summary: 'A file or folder in an entry does not exist.',
    fix: 'Correct the path. It is relative to the folder of the file with the entry.',
  },
  'config/no-kustomization': {
    severity: 'error',
    summary: 'A folder in an entry has no kustomization, or several.',
    fix: 'Keep exactly one kustomization.yaml, kustomization.yml, or Kustomization in the folder.',
  },
  'config/kind': {
    severity: 'error',
    summary: 'The file has the wrong kind for this field.',
    fix: 'List components in `components`, and kustomizations in `resources`.',
  },
  'config/wrong-type': {
    severity: 'error',
    summary: 'The value has the wrong type.',
    fix: 'Use a value of the type in the message.',
  },
  'config/duplicate-field': {
    severity: 'error',
    summary: 'A field appears twice in different cases, and kustomize reads both.',
    fix: 'Remove one of the two fields.',
  },
  'config/outside': {
    severity: 'error',
    summary: 'A file is outside the folder of its kustomization, or a base is outside its repository.',
    fix: 'Move the file to the folder of the kustomization, or use its folder as a base.',
  },
  'config/circle': {
    severity: 'error',
    summary: 'A kustomization, Composition, or base refers to itself.',
    fix: 'Remove one of the references.',
  },
  'config/limit': {
    severity: 'error',
    summary: 'The package has more bases, files, or functions than the limit.',
    fix: 'Use a smaller part of the package.',
  },
  'config/remote': {
    severity: 'error',
    summary: 'A remote base or file could not be read, so its functions are unknown.',
    fix: 'Check the URL and the network, or copy the base to the package.',
  },
  'config/not-a-config': {
    severity: 'error',
    summary: 'A document is not a functionConfig: it has no apiVersion or no kind.',
    fix: 'Set apiVersion and kind of the function, for example `apiVersion: example.com/v1` and `kind: SetLabels`.',
  },
  'config/runtime': {
    severity: 'error',
    summary: 'The runtime in a functionConfig is not valid.',
    fix: 'Use `container: {image: …}`, `exec: {path: …}`, or `starlark: {path: …}`, or remove it to use a catalog.',
  },
  'config/two-runtimes': {
    severity: 'error',
    summary: 'A functionConfig has its own runtime in two places.',
    fix: 'Remove the `runtime` field or the annotation.',
  },
  'config/changed-config': {
    severity: 'error',
    summary:
      'A kustomization changes or generates functionConfigs, so the functions are unknown before the build.',
    fix: 'Use files for the functionConfigs, without patches, generators, or transformers.',
  },
  'config/module': {
    severity: 'error',
    summary: 'A module, an override, or the order of a Composition is not valid.',
    fix: 'Use different names for modules of one kind, and list each module in `moduleOrder` once.',
  },
  'config/import-path': {
    severity: 'error',
    summary: 'An import of a Composition is not valid.',
    fix: 'Use `- path: ../app/composition.yaml`, with `importMode: prepend` or `append`.',
  },
  'config/catalog': {
    severity: 'error',
    summary: 'A reference to a catalog is not valid.',
    fix: 'Use a path, https://…, git::…, or oci://….',
  },
  'config/unknown-field': {
    severity: 'warning',
    summary: 'A Kptfile has a field that krmhub does not know, and that has no effect here.',
    fix: 'Correct the name of the field, or update krmhub if it is of a newer kpt.',
  },
  'config/composition-field': {
    severity: 'error',
    summary: 'A Composition has a field that does not exist.',
    fix: 'Correct the name of the field, or remove it.',
  },
  'config/pipeline': {
    severity: 'error',
    summary: 'An entry of the pipeline of a Kptfile is not valid.',
    fix: 'Set either `image` or `exec` in each entry, and at most one of `configPath` and `configMap`.',
  },
} as const satisfies Record<`config/${string}`, { severity: Severity; summary: string; fix: string }>;

export type ConfigCode = keyof typeof CONFIG_CODES;

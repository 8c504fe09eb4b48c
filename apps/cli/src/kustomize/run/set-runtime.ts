import { defined } from '@krmhub/schema/defined';
import { kebabCase } from '@krmhub/schema/kebab-case';
import type { PlannedFunction } from './planned-function.js';
import type { Strings, YamlFile, YamlPath } from './yaml-edits.js';

const ANNOTATION = 'config.kubernetes.io/function';
/** Where a functionConfig can name its runtime, as kustomize reads it. */
const RUNTIME_PATHS: readonly YamlPath[] = [
  ['metadata', 'annotations', ANNOTATION],
  ['metadata', 'annotations', 'config.k8s.io/function'],
  ['metadata', 'configFn'],
  ['metadata', 'annotations', 'config.kubernetes.io/container'],
];

/** Adds the runtime to a functionConfig, and the name that kustomize requires (KEP-2299 has this default). */
export function setRuntime(
  file: YamlFile,
  { listed, annotation, keepsAnnotation }: PlannedFunction,
  { document, path: at }: { document: number; path: YamlPath } = listed,
): void {
  const { request } = listed;
  const has = (inner: YamlPath) => file.data(document, [...at, ...inner]) !== undefined;
  const keeps = keepsAnnotation && RUNTIME_PATHS.some(has);
  const name = file.data(document, [...at, 'metadata', 'name']);
  const metadata: Strings = defined({
    annotations: keeps ? undefined : { [ANNOTATION]: annotation },
    name: name === undefined || name === '' ? kebabCase(request.kind) : undefined,
  });
  if (Object.keys(metadata).length > 0) file.merge(document, at, { metadata });
}

import { KrmhubError } from '@krmhub/schema/error';
import { kebabCase } from '@krmhub/schema/kebab-case';
import {
  fieldAt,
  isNull,
  mapField,
  type ResourceNode,
  scalarText,
  setAnnotation,
  setField,
  textNode,
} from '@krmhub/schema/resource-yaml';
import { escapeControls } from '@krmhub/schema/text';
import { type PlannedFunction, placeText } from './planned-function.js';

const ANNOTATION = 'config.kubernetes.io/function';
/** Where a functionConfig can name its runtime, as kustomize reads it. */
const RUNTIME_PATHS: readonly (readonly string[])[] = [
  ['metadata', 'annotations', ANNOTATION],
  ['metadata', 'annotations', 'config.k8s.io/function'],
  ['metadata', 'configFn'],
  ['metadata', 'annotations', 'config.kubernetes.io/container'],
];

/**
 * Adds the runtime to a functionConfig, and the name that kustomize requires (KEP-2299 has this default). Throws
 * `invalid-document` for metadata that is not a map.
 */
export function setRuntime(
  config: ResourceNode,
  { listed, annotation, keepsAnnotation, place }: PlannedFunction,
): void {
  for (const at of [['metadata'], ['metadata', 'annotations']]) {
    const found = fieldAt(config, at);
    if (isNull(found) || found!.kind === 'map') continue;
    const message = `cannot edit a copy of ${placeText(place)}: ${at.join('.')} is not a map`;
    throw new KrmhubError('invalid-document', escapeControls(message));
  }
  const keeps = keepsAnnotation && RUNTIME_PATHS.some((at) => fieldAt(config, at) !== undefined);
  if (!keeps) setAnnotation(config, ANNOTATION, annotation);
  const name = scalarText(fieldAt(config, ['metadata', 'name'])) ?? '';
  if (name === '') setField(mapField(config, 'metadata'), 'name', textNode(kebabCase(listed.request.kind)));
}

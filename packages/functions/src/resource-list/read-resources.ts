import {
  ResourceNode,
  readResources as readDocuments,
  removeAnnotation,
  removeEmptyAnnotations,
  rootOf,
  type SequenceIndent,
  setField,
} from '@krmhub/schema/resource-yaml';
import { BARE_LIST_KEY, OWN_ANNOTATIONS } from './annotations.js';
import { emptyAnnotationsPlace } from './annotations-place.js';
import { readIdentity, recordOf } from './read-identity.js';
import { Resource } from './resource.js';
import { ResourceBody } from './resource-body.js';

/** Reads the resources of a YAML file. Throws `invalid-document`. */
export function readResources(text: string, place: { path: string; packagePath?: string }): Resource[] {
  return readDocuments(text, place.path).map(
    ({ node, seqIndent }, index) =>
      new Resource(bodyOf(wrapped(node), seqIndent), {
        path: place.path,
        index,
        packagePath: place.packagePath ?? '',
      }),
  );
}

/**
 * Takes the annotations of the orchestrator out of a document. Where they are the only ones, kyaml keeps their place among the
 * fields of `metadata` until it writes a file.
 */
export function bodyOf(node: ResourceNode, seqIndent: SequenceIndent): ResourceBody {
  const identity = readIdentity(node);
  const own = OWN_ANNOTATIONS.filter((key) => identity.annotations[key] !== undefined);
  for (const key of own) removeAnnotation(node, key);
  const place = own.length === 0 ? undefined : emptyAnnotationsPlace(node);
  // kyaml writes none that are empty.
  removeEmptyAnnotations(node);
  if (own.length === 0) return new ResourceBody(node, identity, seqIndent);
  const annotations = recordOf(Object.entries(identity.annotations).filter(([key]) => !own.includes(key)));
  return new ResourceBody(node, { ...identity, annotations }, seqIndent, place);
}

function wrapped(node: ResourceNode): ResourceNode {
  if (rootOf(node).kind !== 'list') return node;
  const map = new ResourceNode('map', '', 0, '');
  setField(map, BARE_LIST_KEY, rootOf(node));
  return map;
}

import {
  ResourceNode,
  readResources as readDocuments,
  removeEmptyAnnotations,
  rootOf,
  type SequenceIndent,
  setField,
} from '@krmhub/schema/resource-yaml';
import { BARE_LIST_KEY, OWN_ANNOTATIONS } from './annotations.js';
import { readIdentity, recordOf, removeAnnotations } from './read-identity.js';
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

/** Takes the annotations of the orchestrator out of a document. */
export function bodyOf(node: ResourceNode, seqIndent: SequenceIndent): ResourceBody {
  const identity = readIdentity(node);
  // kyaml writes none.
  removeEmptyAnnotations(node);
  const own = OWN_ANNOTATIONS.filter((key) => identity.annotations[key] !== undefined);
  if (own.length === 0) return new ResourceBody(node, identity, seqIndent);
  removeAnnotations(node, own);
  const annotations = recordOf(Object.entries(identity.annotations).filter(([key]) => !own.includes(key)));
  return new ResourceBody(node, { ...identity, annotations }, seqIndent);
}

function wrapped(node: ResourceNode): ResourceNode {
  if (rootOf(node).kind !== 'list') return node;
  const map = new ResourceNode('map', '', 0, '');
  setField(map, BARE_LIST_KEY, rootOf(node));
  return map;
}

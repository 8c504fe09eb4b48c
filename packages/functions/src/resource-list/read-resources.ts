import { defined } from '@krmhub/schema/defined';
import {
  annotations,
  documentRoot,
  fieldAt,
  ResourceNode,
  readResources as readDocuments,
  removeAnnotation,
  removeEmptyAnnotations,
  type SequenceIndent,
  STYLE,
  setField,
} from '@krmhub/schema/resource-yaml';
import { BARE_LIST_KEY, OWN_ANNOTATIONS, PATH } from './annotations.js';
import { emptyAnnotationsPlace } from './annotations-place.js';
import { readIdentity, toRecord } from './read-identity.js';
import { Resource } from './resource.js';
import { type PlaceQuotes, ResourceBody } from './resource-body.js';

/** Reads the resources of a YAML file. `dropsModels`: the package is large. Throws `invalid-document`. */
export function readResources(
  text: string,
  {
    path,
    packagePath = '',
    dropsModels = false,
  }: { path: string; packagePath?: string; dropsModels?: boolean },
): Resource[] {
  return readDocuments(text, path).map(({ node, seqIndent }, index) => {
    const body = readBody(wrapped(node), seqIndent);
    if (dropsModels) body.dropModel();
    return new Resource(body, { path, index, packagePath });
  });
}

/**
 * Takes the annotations of the orchestrator out of a document. Where they are the only ones, kyaml keeps their place
 * among the fields of `metadata` until it writes a file.
 */
export function readBody(node: ResourceNode, seqIndent: SequenceIndent): ResourceBody {
  const identity = readIdentity(node);
  const own = OWN_ANNOTATIONS.filter((key) => identity.annotations[key] !== undefined);
  const quotes = readQuotes(node);
  const annotationsBefore = annotationsBeforeOwn(node);
  for (const key of own) removeAnnotation(node, key);
  const annotationsPlace = own.length === 0 ? undefined : emptyAnnotationsPlace(node);
  // kyaml writes none that are empty.
  removeEmptyAnnotations(node);
  if (own.length === 0) return new ResourceBody(node, identity, seqIndent);
  const others = toRecord(Object.entries(identity.annotations).filter(([key]) => !own.includes(key)));
  const style = {
    quotes,
    ...defined({ annotationsPlace, annotationsBefore }),
  };
  return new ResourceBody(node, { ...identity, annotations: others }, seqIndent, style);
}

/** How many annotations are before those of the orchestrator; undefined if there are none after them. */
function annotationsBeforeOwn(node: ResourceNode): number | undefined {
  const keys = [...annotations(node)].map(([key]) => key);
  const isOwn = (key: string) => OWN_ANNOTATIONS.includes(key);
  const first = keys.findIndex(isOwn);
  return first === -1 || keys.slice(first).every(isOwn) ? undefined : first;
}

/** The path tells: an index needs quotes in any case. */
function readQuotes(node: ResourceNode): PlaceQuotes {
  const style = fieldAt(node, ['metadata', 'annotations', PATH])?.style ?? STYLE.singleQuoted;
  if ((style & STYLE.singleQuoted) !== 0) return 'single';
  return (style & STYLE.doubleQuoted) !== 0 ? 'double' : 'needed';
}

function wrapped(node: ResourceNode): ResourceNode {
  if (documentRoot(node).kind !== 'list') return node;
  const map = new ResourceNode('map', '', 0, '');
  setField(map, BARE_LIST_KEY, documentRoot(node));
  return map;
}

import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import {
  type ResourceListNode,
  type ResourceNode,
  readResourceList,
  toJson,
  writeDocument,
} from '@krmhub/schema/resource-yaml';
import { type FunctionResult, readResults } from '../output/function-result.js';
import * as names from './annotations.js';
import { readIdentity } from './read-identity.js';
import { readBody } from './read-resources.js';
import { Resource } from './resource.js';

/** A ResourceList that the user gave, or the documents of a YAML stream. */
export interface DecodedList {
  resources: Resource[];
  /** YAML. */
  functionConfig?: string;
  results: FunctionResult[];
  /** Whether it was a ResourceList. */
  wrapped: boolean;
}

/** Reads a ResourceList, or YAML documents. Throws `invalid-document`. */
export function decodeResourceList(text: string): DecodedList {
  const list = readResourceList(text, 'the ResourceList');
  return {
    resources: list.items.map((node) => placedResource(node)),
    ...defined({
      functionConfig: list.functionConfig === undefined ? undefined : writeDocument(list.functionConfig),
    }),
    results: decodeResults(list),
    wrapped: list.kind !== '',
  };
}

function decodeResults({ results }: ResourceListNode): FunctionResult[] {
  if (results === undefined) return [];
  const read = readResults(toJson(results));
  if (read.ok) return read.results;
  throw new KrmhubError('invalid-document', `cannot read the ResourceList: ${read.reason}`);
}

/** Takes the place of a resource from its annotations. */
function placedResource(node: ResourceNode): Resource {
  const { annotations } = readIdentity(node);
  const body = readBody(node, annotations[names.SEQUENCE_INDENT] === 'wide' ? 'wide' : 'compact');
  return new Resource(body, {
    path: annotations[names.PATH] ?? annotations[names.LEGACY_PATH] ?? '',
    index: readIndex(annotations[names.INDEX] ?? annotations[names.LEGACY_INDEX]),
    packagePath: annotations[names.PACKAGE_PATH] ?? '',
  });
}

/** Returns the number in an index; undefined for none. Throws `invalid-document` for other text. */
export function readIndex(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (/^[+-]?\d{1,9}$/.test(text)) return Number(text);
  throw new KrmhubError(
    'invalid-document',
    `unable to parse ${names.INDEX} ${JSON.stringify(text)}: expected a number`,
  );
}

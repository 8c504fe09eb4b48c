import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { isObject, listField, objectField, textField } from '@krmhub/schema/json/access';
import { readResources, toJson } from '@krmhub/schema/resource-yaml';
import { FunctionFailure } from '../output/function-failure.js';
import type { RunResult } from '../output/run-result.js';
import { RESOURCE_LIST_VERSIONS } from '../resource-list/encode.js';

/** Runs a function with a ResourceList, as `Step.run`. */
export type RunFunction = (input: Uint8Array) => Promise<RunResult>;

/** What a function did with one input. */
export interface Observation {
  /** Absent if the function was ended, or wrote no ResourceList. */
  result?: RunResult;
  exitCode: number;
  /** Of its ResourceList; empty without one. */
  items: JsonObject[];
  results: JsonValue | undefined;
  /** Why it failed, in its own words where it said it. */
  failure?: string;
  /** Whether it said why it failed: with an error result, or on stderr. */
  hasExplained: boolean;
}

export async function observe(run: RunFunction, input: string): Promise<Observation> {
  let result: RunResult;
  try {
    result = await run(Buffer.from(input));
  } catch (error) {
    if (!(error instanceof FunctionFailure)) throw error;
    const { message, stderr, exitCode = 1 } = error;
    return {
      exitCode,
      items: [],
      results: undefined,
      failure: message,
      hasExplained: decodeText(stderr) !== '',
    };
  }
  const read = readOutput(result.output);
  const { exitCode } = result;
  const list = 'problem' in read ? { items: [], results: undefined } : read;
  const said = findError(list.results) ?? decodeText(result.stderr).split('\n')[0]!;
  if (exitCode === 0) {
    const problem = 'problem' in read ? { failure: `its output ${read.problem}` } : {};
    return { result, exitCode, ...list, ...problem, hasExplained: said !== '' };
  }
  const failure = `it exited with ${exitCode}${said === '' ? '' : `: ${said}`}`;
  return { result, exitCode, ...list, failure, hasExplained: said !== '' };
}

/** Reads a ResourceList strictly: one document, and every item a resource. */
function readOutput(
  output: Uint8Array,
): { items: JsonObject[]; results: JsonValue | undefined } | { problem: string } {
  let documents: JsonValue[];
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(output);
    documents = readResources(text, 'the output').map(({ node }) => toJson(node));
  } catch (error) {
    return { problem: error instanceof KrmhubError ? error.message : 'is not UTF-8 text' };
  }
  const [list] = documents;
  if (documents.length !== 1 || list === undefined) {
    return { problem: `has ${documents.length} YAML documents, expected one ResourceList` };
  }
  const [apiVersion, kind] = [textField(list, 'apiVersion'), textField(list, 'kind')];
  if (kind !== 'ResourceList') return { problem: 'is not a ResourceList' };
  if (!RESOURCE_LIST_VERSIONS.some((known) => known === apiVersion)) {
    return { problem: `has the apiVersion ${apiVersion ?? '""'}, expected ${RESOURCE_LIST_VERSIONS[0]}` };
  }
  if (!isObject(list) || !Array.isArray(list.items)) return { problem: 'has no list `items`' };
  const items: JsonObject[] = [];
  for (const [at, item] of listField(list, 'items').entries()) {
    const problem = itemProblem(item);
    if (problem !== undefined || !isObject(item)) return { problem: `has items[${at}] ${problem}` };
    items.push(item);
  }
  return { items, results: list.results };
}

function itemProblem(item: JsonValue): string | undefined {
  if (!isObject(item)) return 'that is not a mapping';
  for (const name of ['apiVersion', 'kind']) if (!textField(item, name)) return `without ${name}`;
  return textField(objectField(item, 'metadata'), 'name') ? undefined : 'without metadata.name';
}

function findError(results: JsonValue | undefined): string | undefined {
  if (!Array.isArray(results)) return undefined;
  const error = results.find((one) => (textField(one, 'severity') ?? 'error') === 'error');
  return textField(error, 'message');
}

function decodeText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString().trim();
}

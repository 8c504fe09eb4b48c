import { existsSync, lstatSync } from 'node:fs';
import path from 'node:path';
import { readFileUpTo, readFolder } from '@krmhub/consume/files/read-file';
import type { WorkingFolder } from '@krmhub/consume/ports';
import type { FunctionResult } from '@krmhub/functions';
import { type Package, type Resource, readPackage } from '@krmhub/functions/fn';
import { readResultsText } from '@krmhub/functions/output/function-result';
import { defined } from '@krmhub/schema/defined';
import type { JsonObject } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { readConfigFile } from '../fn/read-config-file.js';

/** What an example of a function has, besides what the function should do. */
export interface Example {
  name: string;
  /** Relative to the working directory, as all names of files. */
  folder: string;
  input: Package;
  functionConfig?: { file: string; resource: Resource };
}

/** What a function should do with an example. */
export interface Expectation {
  /** Absent if the folder does not exist. */
  expected?: Package;
  /** Absent if they are not compared. */
  results?: FunctionResult[];
  /** Lines of the message with which it must fail. */
  failure?: string[];
}

export const EXPECTED = 'expected';
export const RESULTS_FILE = 'expected-results.yaml';
export const FAILURE_FILE = 'expected-failure.txt';
const CONFIG_FILE = 'fn-config.yaml';

/** Lists the folders of `examples`, in the order of their names. */
export async function listExamples(io: WorkingFolder, folder: string): Promise<string[]> {
  const examples = path.join(folder, 'examples');
  if (!existsSync(path.resolve(io.cwd, examples))) return [];
  return (await readFolder(io, examples)).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
}

/** Reads an example. Throws `not-found` without input, and `invalid-document`. */
export async function readExample(io: WorkingFolder, root: string, name: string): Promise<Example> {
  const folder = path.join(root, 'examples', name);
  const input = path.join(folder, 'input');
  if (!isFolder(io, input)) {
    throw new KrmhubError('not-found', `the example has no folder ${input}`);
  }
  const file = path.join(folder, CONFIG_FILE);
  const functionConfig = existsSync(path.resolve(io.cwd, file))
    ? { functionConfig: { file, resource: await readConfigFile(io, file) } }
    : {};
  return { name, folder, input: await readPackage(path.resolve(io.cwd, input)), ...functionConfig };
}

export async function readExpectation(io: WorkingFolder, { folder }: Example): Promise<Expectation> {
  const [expected, results, failure] = [EXPECTED, RESULTS_FILE, FAILURE_FILE].map((name) =>
    path.join(folder, name),
  ) as [string, string, string];
  const failureText = await readText(io, failure);
  const resultsText = await readText(io, results);
  return defined({
    expected: isFolder(io, expected) ? await readPackage(path.resolve(io.cwd, expected)) : undefined,
    results: resultsText === undefined ? undefined : readExpectedResults(results, resultsText),
    failure: failureText?.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()])),
  });
}

/** Returns the functionConfig as a value, if the example has one. */
export function exampleConfig({ functionConfig }: Example): JsonObject | undefined {
  return functionConfig?.resource.value() as JsonObject | undefined;
}

function readExpectedResults(file: string, text: string): FunctionResult[] {
  const read = readResultsText(
    /^results:/m.test(text) ? text : `results:\n${text}`,
    DOCUMENT_LIMITS.maxSourceBytes,
  );
  if (read.ok) return read.results;
  throw new KrmhubError('invalid-document', `cannot read ${file}: ${read.reason}`);
}

async function readText(io: WorkingFolder, file: string): Promise<string | undefined> {
  if (!existsSync(path.resolve(io.cwd, file))) return undefined;
  const bytes = await readFileUpTo(io, file);
  if (bytes.byteLength > DOCUMENT_LIMITS.maxSourceBytes) {
    throw new KrmhubError('too-large', `cannot read ${file}: it is too large`);
  }
  return new TextDecoder().decode(bytes);
}

function isFolder(io: WorkingFolder, name: string): boolean {
  return lstatSync(path.resolve(io.cwd, name), { throwIfNoEntry: false })?.isDirectory() === true;
}

import { isDeepStrictEqual } from 'node:util';
import type { JsonValue } from '@krmhub/schema/definition';
import { readResources, toJson } from '@krmhub/schema/resource-yaml';
import { isMap, isSeq, parseAllDocuments, parseDocument } from 'yaml';
import { withoutStatus } from '../../kpt-e2e/differences.js';
import type { Outcome } from './oracle.js';

type Files = Readonly<Record<string, string>>;

/** Returns how krmhub differs from kpt, as lines for a message; nothing if both did the same. */
export function differencesOf(before: Files, kpt: Outcome, { files, ...ours }: Outcome): string[] {
  const krmhub = { ...ours, files: asBeforeStatus(files, before, kpt.files) };
  if (kpt.failed && !krmhub.failed && CANNOT_READ.test(kpt.stderr) && isBroken(kpt.stderr)) {
    return unreadable(krmhub.files);
  }
  // The printed text is cut.
  if (kpt.failed && !krmhub.failed && REJECTED.test(kpt.stderr + kpt.results))
    return unreadable(krmhub.files);
  if (!kpt.failed && krmhub.failed && sharesPlace(kpt, krmhub)) {
    return fileDifferences('left as it was', before, krmhub.files);
  }
  if (kpt.failed !== krmhub.failed) {
    const [one, other] = kpt.failed ? ['kpt', 'krmhub'] : ['krmhub', 'kpt'];
    return [`${one} fails, ${other} does not\nkpt:\n${kpt.stderr}\nkrmhub:\n${krmhub.stderr}`];
  }
  if (krmhub.failed) {
    // kpt may have written a part: ours leaves everything as it was. A function that cannot read its input quotes it.
    const left = fileDifferences('left as it was', before, krmhub.files);
    if (kpt.results.includes('failed to parse the input')) return left;
    if (TAKEN.test(kpt.stderr)) {
      return [...left, ...textDifference('results', kpt.results, withoutFailure(krmhub.results))];
    }
    return [...left, ...textDifference('results', kpt.results, krmhub.results)];
  }
  return [
    ...fileDifferences('as kpt', kpt.files, krmhub.files),
    ...outputDifference(kpt.stdout, krmhub.stdout),
    ...textDifference('results', kpt.results, krmhub.results),
    ...textDifference('progress', progress(kpt), progress(krmhub)),
  ];
}

/** kpt writes a comment between a key and its value in the style of JSON, and cannot read that. */
const BROKEN_FLOW = /":, *#[^\n]*\n *[[{]/;
/** In that style, it writes brackets and commas behind a comment where parsers other than its own reject them. */
const AFTER_COMMENT = /#[^\n]*\n *[\]},]/;
const CANNOT_READ = /^Error: wrong node kind: expected ScalarNode but got MappingNode: node contents:\n/m;

/** Reports whether kpt cannot read what it wrote, or misread it. */
export const isBroken = (text: string): boolean => BROKEN_FLOW.test(text) || text.search(MISREAD) !== -1;

/** What the functions print about brackets that are at the start of a line. */
const REJECTED =
  /Error: failed to parse the input: Flow (?:map|sequence) in block collection must be sufficiently indented/;

const withoutComments = (text: string): string => text.replace(/(^|\s)#.*$/gm, '');

/** Reports whether only comments, commas, and quotes differ, and ours can be read. */
function repairs(expected: string, actual: string): boolean {
  const values = (text: string) => withoutComments(text).replace(/[\s,"']/g, '');
  if (!isYaml(actual)) return false;
  if (isBroken(expected) && values(readAgain(expected)) === values(actual)) return true;
  return movesBrackets(expected, actual) || repeatsComment(expected, actual);
}

/** What kpt reads instead of a collection behind such a comment: an empty value, and the collection as a key. */
const MISREAD = /'', \? (?=[[{])/g;
const readAgain = (text: string): string => text.replace(MISREAD, '').replaceAll(" : ''", '');

/** Reports whether kpt repeats a comment at the end of a resource in the next one. */
function repeatsComment(expected: string, actual: string): boolean {
  const [theirs, ours] = [expected.split('\n'), actual.split('\n')];
  if (theirs.length !== ours.length) return false;
  return theirs.every((line, at) => line === ours[at] || line === `${ours[at]} # not a value`);
}

/** Reports whether only commas differ, and white space, where kpt leaves them behind a comment. */
export function movesBrackets(expected: string, actual: string): boolean {
  const values = (text: string) => withoutComments(text).replace(/[\s,]/g, '');
  const comments = (text: string) => (text.match(/(^|\s)#.*$/gm) ?? []).map((one) => one.trim()).sort();
  return (
    AFTER_COMMENT.test(expected) &&
    values(expected) === values(actual) &&
    isDeepStrictEqual(comments(expected), comments(actual))
  );
}

function isYaml(text: string): boolean {
  try {
    readResources(text, 'output');
    return true;
  } catch {
    return false;
  }
}

function unreadable(files: Files): string[] {
  return Object.entries(files)
    .filter(([name, text]) => /\.ya?ml$/.test(name) && !isYaml(text))
    .map(([name, text]) => `${name} is not YAML:\n${text}`);
}

/** kpt leaves out a function that passed, but moved a resource to a place that is taken. */
function withoutFailure(results: string): string {
  return results.replace(/^exitCode: 1$/m, 'exitCode: 0').replace(/ {2}- exec: .*\n {4}exitCode: 1\n?$/, '');
}

const TAKEN = /^Error: resource at path "(.+)" and index "(\d*)" already exists ?$/m;
const PLACE = ['path', 'index'].map((name) => `config.kubernetes.io/${name}`);

/**
 * Reports whether krmhub refuses what kpt does not notice before the next function: a function changed the legacy
 * annotations so that two resources are at one place.
 */
function sharesPlace(kpt: Outcome, krmhub: Outcome): boolean {
  const [, file, index] = TAKEN.exec(krmhub.stderr) ?? [];
  if (file === undefined || !/^\[FAIL\] ".* move"/m.test(krmhub.stderr)) return false;
  const written = kpt.files[`out/${file}`] ?? kpt.files[file];
  if (written !== undefined) return parseAllDocuments(written).length > 1;
  const list = parseDocument(kpt.stdout).get('items');
  // Unwrapped output does not tell the places.
  if (!isSeq(list)) return kpt.stdout !== '';
  const there = list.items.filter((item) => {
    const [path, at] = PLACE.map((name) => isMap(item) && item.getIn(['metadata', 'annotations', name]));
    return path === file && at === index;
  });
  return there.length > 1;
}

const UNCOMPARED = /^(?:internal\.)?config\.kubernetes\.io\/(?:seqindent|index)$/;

/**
 * Output is for other programs: kpt loses some comments above resources in it, gives generated resources no
 * `seqindent`, and counts empty documents in `index`. What the next command writes to files is compared as text.
 */
function outputDifference(expected: string, actual: string): string[] {
  return repairs(expected, actual) || isDeepStrictEqual(valuesOf(expected), valuesOf(actual))
    ? []
    : textDifference('output', expected, actual);
}

/** The text itself if Go does not read it. */
function valuesOf(text: string): unknown {
  if (!isYaml(text)) return text;
  return readResources(text, 'output').map(({ node }) => compared(toJson(node)));
}

function compared(value: JsonValue): unknown {
  if (Array.isArray(value)) return value.map(compared);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => !UNCOMPARED.test(key));
  return Object.fromEntries(entries.map(([key, inner]) => [key, compared(inner)]));
}

/** What both print about the functions. */
function progress({ stderr }: Outcome): string {
  return stderr
    .split('\n')
    .filter((line) => /^(?:Package "|\[(?:RUNNING|PASS|FAIL)\])/.test(line))
    .join('\n');
}

/** kpt of this version writes no status. It also writes a Kptfile that no function changed in its own layout. */
function asBeforeStatus(files: Files, before: Files, kpt: Files): Record<string, string> {
  if (files.Kptfile === undefined) return { ...files };
  const text = withoutStatus(files.Kptfile);
  const [ours, theirs] = [text, kpt.Kptfile ?? ''].map((one) =>
    readResources(one, 'Kptfile').map(({ node }) => toJson(node)),
  );
  const isSame = text === before.Kptfile && isDeepStrictEqual(ours, theirs);
  return { ...files, Kptfile: isSame ? kpt.Kptfile! : text };
}

function fileDifferences(what: string, expected: Files, actual: Files): string[] {
  const names = [...new Set([...Object.keys(expected), ...Object.keys(actual)])].sort();
  return names.flatMap((name) => {
    if (expected[name] === undefined) return [`${name}: must not be there (${what}):\n${actual[name]}`];
    if (actual[name] === undefined) return [`${name}: is missing (${what}):\n${expected[name]}`];
    return repairs(expected[name], actual[name]) || keepsMore(expected[name], actual[name])
      ? []
      : textDifference(name, expected[name], actual[name]);
  });
}

/**
 * Where an empty line follows it, kpt loses it if a file is written to another place, has moved, or lost its other
 * comments.
 */
const HEADER = /# Copyright\n#\n# Licensed\n\n?/;

/** Reports whether only headers differ, and none is lost that the other keeps. */
function keepsMore(expected: string, actual: string): boolean {
  const [ours, theirs] = [actual.split(HEADER), expected.split(HEADER)];
  return ours.length >= theirs.length && ours.join('') === theirs.join('');
}

const CONTEXT = 4;

/** Shows the lines around the first that differs. */
function textDifference(name: string, expected: string, actual: string): string[] {
  if (expected === actual) return [];
  const [theirs, ours] = [expected.split('\n'), actual.split('\n')];
  const first = theirs.findIndex((line, at) => line !== ours[at]);
  const at = first === -1 ? theirs.length : first;
  const excerpt = (lines: readonly string[]) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT).join('\n');
  return [`${name}, line ${at + 1}:\n--- expected\n${excerpt(theirs)}\n--- actual\n${excerpt(ours)}`];
}

import { readFileSync } from 'node:fs';
import { parseDocument, type YAMLMap } from 'yaml';
import { setAnnotations, setLabels, setNamespace, setString } from '../../kpt-e2e/functions/metadata.js';
import { dropComments, noOp } from '../../kpt-e2e/functions/others.js';
import {
  emit,
  type FunctionOutcome,
  ResourceList,
  type StandInFunction,
  settingsOf,
  stringAt,
} from '../../kpt-e2e/functions/resource-list.js';

/**
 * Functions of generated packages, as one program: `node exec.mjs NAME`. Many do what a careful author avoids: they
 * lose comments, ids, and paths, sort fields, and write JSON.
 */

const INTERNAL = 'internal.config.kubernetes.io';
const LEGACY = 'config.kubernetes.io';
const ID = `${INTERNAL}/id`;

type Settings = Readonly<Record<string, string>>;

/** A function that changes items. */
const changing =
  (change: (list: ResourceList, settings: Settings) => void): StandInFunction =>
  ({ text }) => {
    const list = new ResourceList(text);
    change(list, settingsOf(list.config));
    return { stdout: list.write() };
  };

const ofKind = (list: ResourceList, { kind }: Settings): YAMLMap[] =>
  list.items.filter((item) => kind === undefined || stringAt(item, ['kind']) === kind);

const FUNCTIONS: Readonly<Record<string, StandInFunction>> = {
  identity: noOp,
  rewrite: dropComments,
  'set-namespace': setNamespace,
  'set-labels': setLabels,
  'set-annotations': setAnnotations,
  json: ({ text }) => ({ stdout: `${JSON.stringify(parseDocument(text).toJS())}\n` }),
  sort: ({ text }) => ({ stdout: emit(sorted(parseDocument(text).toJS())) }),
  reverse: changing((list) => {
    list.items.reverse();
  }),
  remove: changing((list, settings) => {
    const removed = new Set(ofKind(list, settings).slice(0, Number(settings.count ?? 1)));
    if (removed.size < list.items.length) list.items = list.items.filter((item) => !removed.has(item));
  }),
  move: changing((list, settings) => {
    for (const [at, item] of ofKind(list, settings).entries()) {
      const prefix = settings.annotation === 'legacy' ? LEGACY : INTERNAL;
      setString(item, ['metadata', 'annotations', `${prefix}/path`], settings.path!.replace('N', String(at)));
      if (settings.index !== undefined) {
        setString(item, ['metadata', 'annotations', `${prefix}/index`], String(Number(settings.index) + at));
      }
    }
  }),
  'forget-path': changing((list, settings) => {
    for (const item of ofKind(list, settings)) {
      for (const prefix of [INTERNAL, LEGACY]) {
        for (const name of ['path', 'index']) item.deleteIn(['metadata', 'annotations', `${prefix}/${name}`]);
      }
    }
  }),
  'forget-id': changing((list) => {
    for (const item of list.items) item.deleteIn(['metadata', 'annotations', ID]);
  }),
  generate: changing((list, settings) => {
    const { name, path, data } = settings;
    if (list.items.some((item) => stringAt(item, ['metadata', 'name']) === name)) return;
    const annotations =
      path === undefined ? {} : { annotations: { [`${INTERNAL}/path`]: path, [`${INTERNAL}/index`]: '0' } };
    const item = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, ...annotations },
      data: { value: data ?? '' },
    };
    list.items.push(parseDocument(emit(item)).contents as unknown as YAMLMap);
  }),
  'set-value': changing((list, settings) => {
    for (const item of ofKind(list, settings))
      item.setIn(['spec', settings.field!], JSON.parse(settings.value!));
  }),
  /** Changes the text, as sed does, and so keeps the comments and the style. */
  replace: ({ text }) => {
    const { from, to } = settingsOf(new ResourceList(text).config);
    const [items, config] = splitAt(text, text.search(/^functionConfig:/m));
    return { stdout: items.replaceAll(from!, to!) + config };
  },
  report: ({ text }) => {
    const list = new ResourceList(text);
    const settings = settingsOf(list.config);
    for (const [at, item] of list.items.entries()) {
      const severity = (['error', 'warning', 'info', undefined] as const)[at % 4];
      const [apiVersion, kind] = [stringAt(item, ['apiVersion'])!, stringAt(item, ['kind'])!];
      list.results.push({
        message: `looked at ${kind}${at === 0 ? '\nin two lines' : ''}`,
        ...(severity === undefined ? {} : { severity }),
        ...(at % 2 === 0
          ? { resourceRef: { apiVersion, kind, name: stringAt(item, ['metadata', 'name']) ?? '' } }
          : { field: { path: 'spec.replicas' }, file: { path: 'a.yaml', index: at } }),
      });
    }
    const exitCode = Number(settings.exit ?? 0);
    return {
      stdout: list.write(),
      exitCode,
      stderr: settings.stderr === undefined ? '' : `${settings.stderr}\n`,
    };
  },
  /** Writes the items as documents, without a ResourceList. */
  bare: ({ text }) => {
    const list = new ResourceList(text);
    if (list.items.length === 0) return { stdout: text };
    return { stdout: list.items.map((item) => emit(item)).join('---\n') };
  },
  crash: () => ({ stdout: '', stderr: 'one\ntwo\n  three\n', exitCode: 7 }),
};

function splitAt(text: string, at: number): [string, string] {
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at)];
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}

const run = FUNCTIONS[process.argv[2]!]!;
const input = { text: readFileSync(0, 'utf8'), tag: process.argv[3] ?? 'v1', env: {}, hasNetwork: false };
const { stdout, stderr = '', exitCode = 0 }: FunctionOutcome = run(input);
process.stderr.write(stderr);
process.stdout.write(stdout);
process.exitCode = exitCode;

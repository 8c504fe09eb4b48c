import { isMap, isScalar, isSeq, parseDocument, visit, type YAMLMap } from 'yaml';
import { failed, fileOf, ResourceList, type StandInFunction, settingsOf, stringAt } from './resource-list.js';

export const noOp: StandInFunction = ({ text }) => ({ stdout: text });

/** Writes the environment to standard error, and fails so that it is shown. */
export const printEnvironment: StandInFunction = ({ text, env }) => ({
  stdout: text,
  stderr: Object.entries(env)
    .map(([name, value]) => `${name}=${value}\n`)
    .join(''),
  exitCode: 1,
});

/** An image that writes its name to standard error and fails. */
export const named =
  (name: string): StandInFunction =>
  () => ({ stdout: '', stderr: `${name}\n`, exitCode: 1 });

/** Reads and writes, which loses comments. */
export const dropComments: StandInFunction = ({ text }) => {
  const list = new ResourceList(text);
  return { stdout: list.write() };
};

/** search-replace with `by-path`, `by-value` and `put-value`. */
export const searchReplace: StandInFunction = ({ text }) => {
  const list = new ResourceList(text);
  const config = list.config;
  const data = (config?.data ?? {}) as Record<string, unknown>;
  const unsuitable = Object.entries(data).find(([, value]) => typeof value === 'object');
  if (unsuitable !== undefined) return failed(list, `"${unsuitable[0]}" must be a string`);
  const { 'by-path': byPath, 'by-value': byValue, 'put-value': putValue } = data;
  if (byPath === undefined && byValue === undefined) return { stdout: text };
  for (const item of list.items) {
    visit(item, {
      Scalar: (key, node, ancestors) => {
        if (key === 'key') return;
        const path = pathOf([...ancestors], node);
        if (byPath !== undefined && path !== byPath) return;
        if (byValue !== undefined && String(node.value) !== String(byValue)) return;
        const file = fileOf(item);
        const action = putValue === undefined ? 'Matched' : 'Mutated';
        if (putValue !== undefined) node.value = typeof node.value === 'number' ? Number(putValue) : putValue;
        list.results.push({
          message: `${action} field value${putValue === undefined ? '' : ' to'} "${String(node.value)}"`,
          field: { path },
          ...(file === undefined ? {} : { file }),
        });
      },
    });
  }
  return { stdout: list.write() };
};

function pathOf(ancestors: readonly unknown[], node: unknown): string {
  const names: string[] = [];
  const chain = [...ancestors, node];
  for (const [at, one] of chain.entries()) {
    const next = chain[at + 1];
    if (isSeq(one) && next !== undefined) names.push(`[${one.items.indexOf(next)}]`);
    else if (typeof one === 'object' && one !== null && 'key' in one && isScalar(one.key)) {
      names.push(String(one.key.value));
    }
  }
  return names.join('.').replaceAll('.[', '[');
}

/** upsert-resource: adds its functionConfig, or replaces the item of the same name. */
export const upsertResource: StandInFunction = ({ text }) => {
  const list = new ResourceList(text);
  const config = parseDocument(text).get('functionConfig');
  if (!isMap(config)) return failed(list, 'failed to find the resource to upsert');
  const added = config as YAMLMap;
  const place = list.items.findIndex((item) => identityOf(item) === identityOf(added));
  if (place === -1) list.items.push(added);
  else list.items[place] = added;
  return { stdout: list.write() };
};

function identityOf(item: YAMLMap): string {
  const paths = [['apiVersion'], ['kind'], ['metadata', 'namespace'], ['metadata', 'name']];
  return paths.map((path) => stringAt(item, path) ?? '').join('|');
}

interface Replacement {
  source: { kind?: string; name?: string; fieldPath?: string };
  targets: { select: { kind?: string; name?: string }; fieldPaths?: string[] }[];
}

/** apply-replacements: copies a field of one item to fields of others. */
export const applyReplacements: StandInFunction = ({ text }) => {
  const list = new ResourceList(text);
  const replacements = (list.config?.replacements ?? []) as Replacement[];
  const matches = (item: YAMLMap, { kind, name }: { kind?: string; name?: string }) =>
    (kind === undefined || stringAt(item, ['kind']) === kind) &&
    (name === undefined || stringAt(item, ['metadata', 'name']) === name);
  for (const { source, targets } of replacements) {
    const from = list.items.find((item) => matches(item, source));
    if (from === undefined) return failed(list, 'nothing selected by the source of a replacement');
    const value = from.getIn(fieldNames(source.fieldPath ?? 'metadata.name'));
    for (const { select, fieldPaths } of targets) {
      for (const item of list.items.filter((one) => matches(one, select))) {
        for (const path of fieldPaths ?? ['metadata.name']) item.setIn(fieldNames(path), value);
      }
    }
  }
  return { stdout: list.write() };
};

/** `data.[app.kubernetes.io/app]` has the names `data` and `app.kubernetes.io/app`. */
function fieldNames(path: string): string[] {
  return [...path.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
}

const WORKLOADS = new Set(['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet']);
const NO_SCHEMA =
  'Validating arbitrary CRDs is not supported yet. You can skip them by setting ignore_missing_schemas or skip_kinds in the function config:\n';

/** kubeval, for the workloads of apps/v1 and for kinds that Kubernetes does not have. */
export const kubeval: StandInFunction = ({ text, tag, hasNetwork }) => {
  const list = new ResourceList(text);
  const settings = settingsOf(list.config);
  // Later images have schemas of their own.
  const needsNetwork = tag === 'v0.1' || settings.schema_location?.startsWith('https:') === true;
  if (needsNetwork && !hasNetwork) return failed(list, 'failed to download the schemas: no network');
  const skipped = new Set((settings.skip_kinds ?? '').split(','));
  // The real function reports the files of kpt last.
  const isOfKpt = (item: YAMLMap) => stringAt(item, ['apiVersion'])?.startsWith('kpt.dev/') === true;
  for (const item of [...list.items].sort((a, b) => Number(isOfKpt(a)) - Number(isOfKpt(b)))) {
    const kind = stringAt(item, ['kind']) ?? '';
    const apiVersion = stringAt(item, ['apiVersion']) ?? '';
    if (skipped.has(kind)) continue;
    const file = fileOf(item);
    const add = (message: string, path?: string) =>
      list.results.push({
        message,
        severity: 'error',
        resourceRef: { apiVersion, kind, name: stringAt(item, ['metadata', 'name']) ?? '' },
        ...(path === undefined ? {} : { field: { path } }),
        ...(file === undefined ? {} : { file }),
      });
    const [group, version] = apiVersion.split('/');
    if (version !== undefined && group!.includes('.') && !group!.endsWith('.k8s.io')) {
      if (settings.ignore_missing_schemas === 'true') continue;
      const schema =
        `/tmp/master-standalone-strict/${kind}-${group!.split('.')[0]}-${version}.json`.toLowerCase();
      add(
        `${NO_SCHEMA}ERR  - stdin: Failed initializing schema file://${schema}: open ${schema}: no such file or directory\n`,
      );
    } else if (WORKLOADS.has(kind) && apiVersion === 'apps/v1') {
      for (const field of ['selector', 'template']) {
        if (!item.hasIn(['spec', field])) add(`${field} is required`, field);
      }
      const replicas = item.getIn(['spec', 'replicas']);
      if (typeof replicas === 'string') {
        add('Invalid type. Expected: [integer,null], given: string', 'spec.replicas');
      }
    }
  }
  return { stdout: list.write(), exitCode: list.results.length > 0 ? 1 : 0 };
};

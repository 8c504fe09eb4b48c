import { stat } from 'node:fs/promises';
import path from 'node:path';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { defined } from '@krmhub/schema/defined';
import { RUNTIME_KINDS } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { isObject } from '@krmhub/schema/json/access';
import { fieldAt, type ResourceNode, resourceIdentity, scalarText } from '@krmhub/schema/resource-yaml';
import { escapeControls, shellWord } from '@krmhub/schema/text';
import { FINDINGS } from '../../io/exit-code.js';
import { type Io, writeData } from '../../io/io.js';
import { printWarning } from '../../io/print.js';
import { readStdin } from '../../io/read-stdin.js';
import { watchCaller } from '../../io/watch-caller.js';
import { Runner } from '../../run/runner.js';
import { formatPlugin, pluginName } from './plugin-folder.js';
import { type PluginPin, type PluginRecord, readRecord } from './plugin-record.js';
import { printMessages } from './print-messages.js';
import { readRequest, readResponse, resourceList } from './resource-list.js';

/** Bytes of the resources that kustomize passes. All of them are in memory, several times. */
const MAX_INPUT_BYTES = 134_217_728;
const LOCK_FILE = 'krmhub.lock';

/**
 * What a plugin does when kustomize runs it: `PLUGIN CONFIG_FILE`, with resources on stdin and the resources for
 * kustomize on stdout. It needs no network, unless the cache was removed.
 */
export async function runPlugin(io: Io, args: readonly string[]): Promise<void> {
  const [plugin, configFile] = args;
  if (plugin === undefined || configFile === undefined) {
    throw new KrmhubError('usage', 'the configuration file is missing: only kustomize can run a plugin', {
      hint: 'Run kustomize build --enable-alpha-plugins, or kubectl kustomize --enable-alpha-plugins.',
    });
  }
  const record = await readRecord(path.resolve(io.cwd, plugin));
  if (record === undefined) {
    throw new KrmhubError('not-found', `cannot run ${plugin}: its record is missing`, {
      hint: escapeControls(
        `Install the plugin again from its catalog: krmhub plugins install --force --kind ${shellWord(pluginName(plugin))} -c CATALOG`,
      ),
    });
  }
  const name = formatPlugin(record.function);
  const [config, stdin] = await Promise.all([
    readFileUpTo(io, configFile, MAX_INPUT_BYTES),
    readStdin(io, MAX_INPUT_BYTES),
  ]);
  if (config.byteLength > MAX_INPUT_BYTES || stdin.byteLength > MAX_INPUT_BYTES) {
    throw new KrmhubError(
      'too-large',
      `cannot run ${name}: its input is larger than ${MAX_INPUT_BYTES} bytes`,
    );
  }
  const request = readRequest(config, stdin);
  checkConfig(request.functionConfig, record, name);
  const root = io.env.KUSTOMIZE_PLUGIN_CONFIG_ROOT ?? io.cwd;
  const pin = (await isFile(path.join(root, LOCK_FILE))) ? await lockedPin(io, record, root) : record.pins[0];
  const { requirePluginStanding } = await import('./plugin-takedown.js');
  await requirePluginStanding(io, record, pin);
  const unchecked = await checkSchema(config, pin.declared, record);
  if (unchecked !== undefined) await printWarning(io, escapeControls(unchecked));
  const { engine, sandbox, permissions } = record;
  const signal = watchCaller(io, name);
  const runner = new Runner(io, permissions, {
    tools: defined({ engine, sandbox }),
  });
  try {
    const prepared = await runner.entry({ ...record.function, ...pin });
    const result = await prepared.run(resourceList(request), { folder: root, signal });
    if (result.exitCode === 0 && result.stderr.byteLength + result.results.length === 0) {
      await writeData(io.stdout, readResponse(result.output, request, name));
      return;
    }
    await printMessages(io, name, result, prepared.notes);
    if (result.exitCode === 0) await writeData(io.stdout, readResponse(result.output, request, name));
    else io.exitCode = FINDINGS;
  } finally {
    await runner.close();
  }
}

/** Throws for a configuration that `krmhub explain` would not run with this plugin. */
function checkConfig(config: ResourceNode, { function: own }: PluginRecord, name: string): void {
  const { apiVersion, kind } = resourceIdentity(config);
  if (apiVersion !== own.apiVersion || kind !== own.kind) {
    throw new KrmhubError(
      'invalid-request',
      `the plugin ${name} got a configuration of ${apiVersion}/${kind}`,
    );
  }
  // KEP-2906, "Determining the Function to Execute"; kustomize itself ignores the field.
  const isInline = RUNTIME_KINDS.some(
    (one) =>
      scalarText(fieldAt(config, ['runtime', one, one === 'container' ? 'image' : 'path'])) !== undefined,
  );
  if (isInline) {
    throw new KrmhubError('unsupported', `cannot run ${name}: its functionConfig has its own runtime`, {
      hint: 'Remove the field runtime to use the catalog, or build with: krmhub build',
    });
  }
}

/** Throws for a configuration that does not satisfy its schema. kustomize passes a copy, so a line says nothing. */
async function checkSchema(
  config: Uint8Array,
  declared: PluginPin['declared'],
  { function: own }: PluginRecord,
): Promise<string | undefined> {
  if (declared === undefined) {
    return `the functionConfig of ${own.apiVersion} ${own.kind} is not checked: the plugin does not have its schema`;
  }
  const { readMachineYaml } = await import('@krmhub/yaml/read/read-machine-yaml');
  const { checkDeclared } = await import('../../lock/config-check.js');
  const [value] = readMachineYaml(config, { file: '' }).documents;
  if (isObject(value)) return checkDeclared(declared, { ...own, value });
  // What only a slower parser reads: an integer of 64 bits, or `yes`.
  const { exactIntegers, readYaml } = await import('@krmhub/yaml');
  const [document] = readYaml(config, { file: '' }).documents;
  if (document === undefined || !isObject(document.value)) return undefined;
  const exact = exactIntegers(config, document);
  return checkDeclared(declared, { ...own, value: document.value, exact });
}

/** Reading a lock file takes longer than all the rest. */
async function lockedPin(io: Io, record: PluginRecord, folder: string): Promise<PluginPin> {
  const { choosePin } = await import('./choose-pin.js');
  return choosePin(io, record, folder);
}

async function isFile(file: string): Promise<boolean> {
  const status = await stat(file).catch(() => undefined);
  return status?.isFile() === true;
}

import { readFile } from 'node:fs/promises';
import { readResources } from '@krmhub/functions/fn';
import { defined } from '@krmhub/schema/defined';
import type { JsonObject } from '@krmhub/schema/definition';
import { isObject } from '@krmhub/schema/json/access';
import { exactIntegers, readYaml, type YamlDocument } from '@krmhub/yaml';
import type { Io } from '../io/io.js';
import type { WrittenConfig } from '../lock/config-check.js';
import { displayPath } from '../lock/display-path.js';

/**
 * Returns the functionConfig of a function, with its positions if the file still has it as it is: a function before can
 * have changed it.
 */
export async function writtenConfig(
  io: Io,
  functionConfig: string | undefined,
  file: string | undefined,
): Promise<Omit<WrittenConfig, 'apiVersion' | 'kind'>> {
  const read = functionConfig === undefined ? undefined : readResources(functionConfig, { path: '' })[0];
  const value = read?.value();
  if (!isObject(value)) return { value: undefined };
  const bytes = new TextEncoder().encode(functionConfig);
  const [own] = readYaml(bytes, { file: '' }).documents;
  const config = { value, ...defined({ exact: own === undefined ? undefined : exactIntegers(bytes, own) }) };
  if (file === undefined) return config;
  const found = await findDocument(file, value);
  const written: Partial<WrittenConfig> & typeof config = { ...config, file: displayPath(io, file) };
  if (found !== undefined) written.positionOf = (path, target) => found.locate(path, target)?.start;
  return written;
}

async function findDocument(file: string, value: JsonObject): Promise<YamlDocument | undefined> {
  const bytes = await readFile(file).catch(() => undefined);
  if (bytes === undefined) return undefined;
  const own = JSON.stringify(value);
  return readYaml(bytes, { file }).documents.find((document) => JSON.stringify(document.value) === own);
}

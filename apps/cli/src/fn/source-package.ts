import { encodeResourceList } from '@krmhub/functions/fn';
import { type Io, writeData } from '../io/io.js';
import { readConfigFile } from './read-config-file.js';
import { readPackageFiles } from './read-package-files.js';

/** Writes the resources of a folder to stdout: as a ResourceList, or as YAML documents. */
export async function sourcePackage(
  io: Io,
  name: string,
  { config, isUnwrapped }: { config?: string; isUnwrapped: boolean },
): Promise<void> {
  const { resources } = await readPackageFiles(io, name);
  const functionConfig = config === undefined ? undefined : (await readConfigFile(io, config)).text();
  const text = isUnwrapped
    ? resources.map((resource) => resource.text()).join('---\n')
    : encodeResourceList(resources, { functionConfig });
  await writeData(io.stdout, text);
}

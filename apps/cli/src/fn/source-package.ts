import { encodeResourceList } from '@krmhub/functions/fn';
import { type Io, writeData } from '../io/io.js';
import { readConfigFile } from './read-config-file.js';
import { readPackageFiles } from './read-package-files.js';

/** Writes the resources of a folder to stdout: as a ResourceList, or as YAML documents. */
export async function sourcePackage(
  io: Io,
  name: string,
  {
    config,
    isUnwrapped,
    skipsUnreadable,
  }: { config?: string; isUnwrapped: boolean; skipsUnreadable: boolean },
): Promise<void> {
  const { resources } = await readPackageFiles(io, name, { skipsUnreadable });
  const functionConfig = config === undefined ? undefined : (await readConfigFile(io, config)).text();
  const text = isUnwrapped
    ? resources.map((resource) => resource.text()).join('---\n')
    : encodeResourceList(resources, { functionConfig });
  await writeData(io.stdout, text);
}

import { type DecodedList, decodeResourceList, decodeText, type Package } from '@krmhub/functions/fn';
import { KPTFILE, readKptfile } from '@krmhub/functions/plan';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { readStdin } from '../io/read-stdin.js';
import { readPackageFiles } from './read-package-files.js';
import type { FnSettings } from './settings.js';

/** Size of a ResourceList on stdin, as for the output of a function. */
const MAX_STDIN_BYTES = 134_217_728;

/** Resources of a folder, or of stdin. */
export interface FnInput extends Pick<DecodedList, 'resources' | 'functionConfig'> {
  package?: Package;
}

/** Reads a folder, or stdin for `-`: a ResourceList, or YAML documents. */
export async function readInput(io: Io, name: string, settings: FnSettings): Promise<FnInput> {
  if (name === '-') return readStdinList(io);
  const files = await readPackageFiles(io, name, settings);
  const kptfile = files.files.get(KPTFILE);
  // Of an old version, which kpt refuses to change.
  if (kptfile !== undefined) await readKptfile(kptfile.text, files.folder);
  return { package: files, resources: [...files.resources] };
}

/** Reads a ResourceList, or YAML documents, from stdin. */
export async function readStdinList(io: Io): Promise<DecodedList> {
  const bytes = await readStdin(io, MAX_STDIN_BYTES);
  if (bytes.byteLength > MAX_STDIN_BYTES) {
    throw new KrmhubError('too-large', `the input has more than ${MAX_STDIN_BYTES} bytes`);
  }
  return decodeResourceList(decodeText(bytes, 'the input'));
}

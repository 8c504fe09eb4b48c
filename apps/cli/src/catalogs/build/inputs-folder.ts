import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { splitLines } from '@krmhub/api/export-client';
import { KrmhubError } from '@krmhub/schema/error';
import { diskError, readFileUpTo } from '../../files/read-file.js';
import { writeFileAtomically, writePiecesAtomically } from '../../files/write-file.js';

/** The names of a catalog's inputs in their folder. */
export const INPUT_FILES = {
  /** Exact text. */
  recipe: 'recipe.yaml',
  /** Written last: without it a folder is no export. */
  inputs: 'inputs.json',
  /** Which entries the sources have and had, and since when. */
  entries: 'entries.jsonl',
  functions: 'functions.jsonl',
  /** What the bytes that are built are held against. */
  snapshot: 'snapshot.json',
} as const;
export type InputFile = keyof typeof INPUT_FILES;

export class InputsFolder {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  path(file: InputFile): string {
    return path.join(this.#folder, INPUT_FILES[file]);
  }

  /** The exact bytes of a source's last good copy; names of sources are DNS labels. */
  copyPath(source: string): string {
    if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(source)) {
      throw new KrmhubError('invalid-document', `${this.path('inputs')} names a source that has no name`);
    }
    return path.join(this.#folder, 'sources', source);
  }

  async read(file: string, maxBytes: number): Promise<Uint8Array> {
    const bytes = await readFileUpTo({ cwd: this.#folder }, file, maxBytes);
    if (bytes.byteLength <= maxBytes) return bytes;
    throw new KrmhubError('too-large', `${file} has more than ${maxBytes} bytes`);
  }

  async *lines(file: InputFile): AsyncGenerator<Uint8Array, void, undefined> {
    const name = this.path(file);
    try {
      yield* splitLines(createReadStream(name) as AsyncIterable<Uint8Array>, name);
    } catch (error) {
      throw diskError(error, `cannot read ${name}`);
    }
  }

  async write(file: string, bytes: Uint8Array | string): Promise<void> {
    await writeFileAtomically(file, bytes, { overwrite: true });
  }

  async writeLines(file: InputFile, lines: AsyncIterable<Uint8Array>): Promise<void> {
    const pieces = async function* () {
      for await (const line of lines) yield Buffer.concat([line, NEWLINE]);
    };
    await writePiecesAtomically(this.path(file), { same: async () => false, pieces }, { overwrite: true });
  }

  /** What was exported before is no export any more. */
  async begin(): Promise<void> {
    await rm(this.path('inputs'), { force: true });
  }
}

const NEWLINE = Buffer.from('\n');

import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { splitLines } from '@krmhub/api/export-client';
import { diskError, readFileUpTo } from '@krmhub/consume/files/read-file';
import { writeChunksAtomically, writeFileAtomically } from '@krmhub/consume/files/write-file';
import { KrmhubError } from '@krmhub/schema/error';

/** File names of the inputs of a catalog. */
export const INPUT_FILES = {
  /** Exact text. */
  recipe: 'recipe.yaml',
  /** Written last: a folder without it is not a complete export. */
  inputs: 'inputs.json',
  /** The current and former entries of the sources, and when they were first seen. */
  entries: 'entries.jsonl',
  functions: 'functions.jsonl',
  /** The snapshot to compare a build with. */
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

  /** Path of the last good copy of a source. Names of sources are DNS labels. */
  copyPath(source: string): string {
    if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(source)) {
      throw new KrmhubError(
        'invalid-document',
        `${this.path('inputs')} has an invalid source name: ${JSON.stringify(source)}`,
      );
    }
    return path.join(this.#folder, 'sources', source);
  }

  async read(file: string, maxBytes: number): Promise<Uint8Array> {
    const bytes = await readFileUpTo({ cwd: this.#folder }, file, maxBytes);
    if (bytes.byteLength <= maxBytes) return bytes;
    throw new KrmhubError('too-large', `${file} exceeds ${maxBytes} bytes`);
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
    const chunks = async function* () {
      for await (const line of lines) yield Buffer.concat([line, NEWLINE]);
    };
    await writeChunksAtomically(this.path(file), { same: async () => false, chunks }, { overwrite: true });
  }

  /** Removes the marker of an earlier export before it is overwritten. */
  async invalidate(): Promise<void> {
    await rm(this.path('inputs'), { force: true });
  }
}

const NEWLINE = Buffer.from('\n');

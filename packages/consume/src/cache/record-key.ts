import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { configurationFolder } from '../files/configuration-folder.js';
import type { Environment } from '../ports.js';

const KEY = /^[a-f0-9]{64}\n?$/;

/**
 * Proves that this user wrote a record on this machine. The key is with the configuration of the user, not in the cache:
 * a pipeline restores a cache that other jobs can have written.
 */
export class RecordKey {
  readonly #file: string;
  #stored: Promise<string | undefined> | undefined;
  #made: Promise<string> | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  /** Returns the code of a text (HMAC-SHA256, hexadecimal). Makes the key if there is none. */
  async sign(text: string): Promise<string> {
    const key = await this.#key();
    if (key !== undefined) return code(key, text);
    this.#made ??= this.#make();
    return code(await this.#made, text);
  }

  async hasSigned(text: string, found: unknown): Promise<boolean> {
    const key = await this.#key();
    if (key === undefined || typeof found !== 'string') return false;
    const [expected, given] = [Buffer.from(code(key, text)), Buffer.from(found)];
    return given.byteLength === expected.byteLength && timingSafeEqual(given, expected);
  }

  #key(): Promise<string | undefined> {
    this.#stored ??= this.#read();
    return this.#made ?? this.#stored;
  }

  async #read(): Promise<string | undefined> {
    const text = await readFile(this.#file, 'utf8').catch(() => '');
    return KEY.test(text) ? text.trim() : undefined;
  }

  async #make(): Promise<string> {
    // Another process may have made it meanwhile.
    const known = await this.#read();
    if (known !== undefined) return known;
    const { makeRecordKey } = await import('./make-record-key.js');
    return makeRecordKey(this.#file, () => this.#read());
  }
}

export function recordKeyFile(io: Environment): string {
  return path.join(configurationFolder(io), 'cache.key');
}

function code(key: string, text: string): string {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(text).digest('hex');
}

import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import {
  type CatalogFrame,
  type CatalogHeader,
  type CatalogSyntax,
  catalogFrame,
  type DocumentFacts,
} from '@krmhub/catalog';
import { type Digest, SNAPSHOT_RENDITIONS, type SnapshotRendition } from '@krmhub/schema';
import { joinedCrc32 } from './crc32.js';

/** What is known about the documents of a catalog in one syntax. */
export interface HashedSyntax {
  functions: number;
  documents: { rendition: SnapshotRendition; digest: Digest; facts: DocumentFacts }[];
}

interface Document {
  rendition: SnapshotRendition;
  frame: CatalogFrame;
  hash: Hash;
}

/** Hashes the documents of a catalog in one syntax, from the texts of its entries in order. */
export class SyntaxHashes {
  readonly #documents: Document[];
  /** The documents differ in their heads only: everything after it. */
  #body: DocumentFacts;
  #functions: number;

  private constructor(documents: Document[], body: DocumentFacts, functions: number) {
    this.#documents = documents;
    this.#body = body;
    this.#functions = functions;
  }

  static of(syntax: CatalogSyntax, header: CatalogHeader): SyntaxHashes {
    const documents = SNAPSHOT_RENDITIONS.filter((one) => syntaxOf(one) === syntax).map((rendition) => ({
      rendition,
      frame: catalogFrame(rendition, header),
      hash: createHash('sha256'),
    }));
    return new SyntaxHashes(documents, { bytes: 0, crc32: 0 }, 0);
  }

  /** Returns an independent copy, to continue from here with other entries. */
  copy(): SyntaxHashes {
    const documents = this.#documents.map((one) => ({ ...one, hash: one.hash.copy() }));
    return new SyntaxHashes(documents, { ...this.#body }, this.#functions);
  }

  /** Adds the texts of entries, with the text between them. */
  add(text: Uint8Array, functions: number): void {
    if (functions === 0) return;
    if (this.#functions === 0) for (const { hash, frame } of this.#documents) hash.update(frame.head);
    else this.#update(Buffer.from(this.#documents[0]!.frame.between));
    this.#functions += functions;
    this.#update(text);
  }

  /** Call it once, after the last entry. */
  end(): HashedSyntax {
    const isEmpty = this.#functions === 0;
    if (!isEmpty) this.#update(Buffer.from(this.#documents[0]!.frame.end));
    const { bytes, crc32: crc } = this.#body;
    const documents = this.#documents.map(({ rendition, frame, hash }) => {
      if (isEmpty) hash.update(frame.empty);
      const head = Buffer.from(isEmpty ? frame.empty : frame.head);
      const facts = { bytes: head.byteLength + bytes, crc32: joinedCrc32(crc32(head), crc, bytes) };
      const digest: Digest = `sha256:${hash.digest('hex')}`;
      return { rendition, digest, facts };
    });
    return { functions: this.#functions, documents };
  }

  #update(text: Uint8Array): void {
    if (text.byteLength === 0) return;
    for (const { hash } of this.#documents) hash.update(text);
    this.#body.crc32 = crc32(text, this.#body.crc32);
    this.#body.bytes += text.byteLength;
  }
}

/** Returns the syntax of a rendition. */
export function syntaxOf(rendition: SnapshotRendition): CatalogSyntax {
  return rendition.endsWith('.yaml') ? 'yaml' : 'json';
}

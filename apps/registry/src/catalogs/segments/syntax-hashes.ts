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
  documents: { catalog: string; rendition: SnapshotRendition; digest: Digest; facts: DocumentFacts }[];
  /** What follows the head of the documents that the added texts replace. */
  replacedBody: DocumentFacts;
}

interface Document {
  catalog: string;
  rendition: SnapshotRendition;
  frame: CatalogFrame;
  hash: Hash;
}

/** Hashes the documents of catalogs with the same entries in one syntax, from the texts of these in order. */
export class SyntaxHashes {
  readonly #documents: Document[];
  /** The documents differ in their heads only: everything after it. */
  readonly #body: Body;
  /** The same of the documents that these replace. */
  readonly #replaced: Body;

  private constructor(documents: Document[], body: Body) {
    this.#documents = documents;
    this.#body = body;
    this.#replaced = body.copy();
  }

  static of(syntax: CatalogSyntax, headers: readonly CatalogHeader[]): SyntaxHashes {
    const renditions = SNAPSHOT_RENDITIONS.filter((one) => renditionSyntax(one) === syntax);
    const documents = headers.flatMap((header) =>
      renditions.map((rendition) => ({
        catalog: header.name,
        rendition,
        frame: catalogFrame(rendition, header),
        hash: createHash('sha256'),
      })),
    );
    return new SyntaxHashes(documents, new Body());
  }

  /** Returns an independent copy, to continue from here with other entries. Nothing was replaced before. */
  copy(): SyntaxHashes {
    const documents = this.#documents.map((one) => ({ ...one, hash: one.hash.copy() }));
    return new SyntaxHashes(documents, this.#body.copy());
  }

  /** Returns those of one catalog. Use either these or the hashes of all from now on. */
  only(catalog: string): SyntaxHashes {
    return new SyntaxHashes(
      this.#documents.filter((one) => one.catalog === catalog),
      this.#body.copy(),
    );
  }

  /** Adds the text of one or several entries. `isKept` if the replaced documents have it too. */
  add(text: Uint8Array, { isKept }: { isKept: boolean }): void {
    const crc = crc32(text);
    if (this.#body.isEmpty) for (const { hash, frame } of this.#documents) hash.update(frame.head);
    else this.#update(this.#between);
    for (const { hash } of this.#documents) hash.update(text);
    this.#body.add(this.#between, text, crc);
    if (isKept) this.#replaced.add(this.#between, text, crc);
  }

  /** Adds the text of entries that only the replaced documents have. */
  addReplaced(text: Uint8Array): void {
    this.#replaced.add(this.#between, text, crc32(text));
  }

  /** Call it once, after the last entry. */
  end(): HashedSyntax {
    const { isEmpty } = this.#body;
    const end = Buffer.from(this.#documents[0]!.frame.end);
    if (!isEmpty) this.#update(end);
    const body = this.#body.end(end);
    const documents = this.#documents.map(({ catalog, rendition, frame, hash }) => {
      if (isEmpty) hash.update(frame.empty);
      const facts = withHead(isEmpty ? frame.empty : frame.head, body);
      const digest: Digest = `sha256:${hash.digest('hex')}`;
      return { catalog, rendition, digest, facts };
    });
    return { documents, replacedBody: this.#replaced.end(end) };
  }

  get #between(): Uint8Array {
    return Buffer.from(this.#documents[0]!.frame.between);
  }

  #update(text: Uint8Array): void {
    for (const { hash } of this.#documents) hash.update(text);
  }
}

/** The size and checksum of what follows the head of a document. */
class Body {
  #facts: DocumentFacts;
  #isEmpty: boolean;

  constructor(facts: DocumentFacts = { bytes: 0, crc32: 0 }, isEmpty = true) {
    this.#facts = facts;
    this.#isEmpty = isEmpty;
  }

  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  copy(): Body {
    return new Body(this.#facts, this.#isEmpty);
  }

  add(between: Uint8Array, text: Uint8Array, crc: number): void {
    if (!this.#isEmpty) this.#append({ bytes: between.byteLength, crc32: crc32(between) });
    this.#isEmpty = false;
    this.#append({ bytes: text.byteLength, crc32: crc });
  }

  end(end: Uint8Array): DocumentFacts {
    if (!this.#isEmpty) this.#append({ bytes: end.byteLength, crc32: crc32(end) });
    return this.#facts;
  }

  #append(facts: DocumentFacts): void {
    this.#facts = joined(this.#facts, facts);
  }
}

/** Returns the facts of a document from its head and those of the rest. */
export function withHead(head: string, body: DocumentFacts): DocumentFacts {
  const bytes = Buffer.from(head);
  return joined({ bytes: bytes.byteLength, crc32: crc32(bytes) }, body);
}

function joined(first: DocumentFacts, second: DocumentFacts): DocumentFacts {
  return {
    bytes: first.bytes + second.bytes,
    crc32: joinedCrc32(first.crc32, second.crc32, second.bytes),
  };
}

/** Returns the syntax of a rendition. */
export function renditionSyntax(rendition: SnapshotRendition): CatalogSyntax {
  return rendition.endsWith('.yaml') ? 'yaml' : 'json';
}

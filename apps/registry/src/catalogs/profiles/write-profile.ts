import { setImmediate } from 'node:timers/promises';
import {
  type EntryReader,
  PROFILE_DIALECTS,
  profileReportPieces,
  type SnapshotRecord,
} from '@krmhub/catalog';
import type { Digest, FunctionDefinition, Profile } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../limits.js';
import type { Derivation } from '../../workers/derive/derivation.js';
import { catalogHeader } from '../catalog-header.js';
import { PieceWriter } from './piece-writer.js';

/** Files of a profile and of its report, with their sizes in bytes. They are durable. */
export interface WrittenProfile {
  digest: Digest;
  size: number;
  report: Digest;
  reportSize: number;
}

type ProfiledSnapshot = Pick<SnapshotRecord, 'catalog' | 'serial' | 'digests' | 'labels'>;

/** Writes a snapshot in the dialect of another tool, entry by entry: converting a large one takes long. */
export const WRITE_PROFILE: Derivation<{ snapshot: ProfiledSnapshot; profile: Profile }, WrittenProfile> = {
  name: 'profile',
  async derive({ store, profileBlobs }, { snapshot, profile }) {
    const { catalog, serial, digests } = snapshot;
    const { unsupportedFields, writer } = PROFILE_DIALECTS[profile];
    const document = writer(catalogHeader(snapshot));
    const reports = profileReportPieces(
      { catalog, snapshot: digests['catalog.yaml'], profile },
      unsupportedFields,
    );
    const files = [await profileBlobs.write(), await profileBlobs.write()] as const;
    try {
      const [text, report] = [new PieceWriter(files[0]), new PieceWriter(files[1])];
      let functions = 0;
      let omitted = 0;
      for await (const json of jsonEntries(store, catalog, serial)) {
        const entry = document.entry(JSON.parse(json) as FunctionDefinition);
        if (entry.written) functions += 1;
        else omitted += 1;
        await text.write(entry.text);
        await report.write(reports.values(entry.unsupported));
        const isLarge = json.length > SERVER_LIMITS.maxPlannedInlineBytes;
        if (isLarge || (functions + omitted) % SERVER_LIMITS.profileBatch === 0) await setImmediate();
      }
      await text.write(document.end());
      await text.flush();
      const digest = files[0].digest();
      await report.write(reports.end({ digest, functions, omitted }));
      await report.flush();
      for (const file of files) await file.commit();
      return { digest, size: text.size, report: files[1].digest(), reportSize: report.size };
    } catch (error) {
      await Promise.all(files.map((file) => file.discard()));
      throw error;
    }
  },
};

async function* jsonEntries(store: EntryReader, catalog: string, serial: number): AsyncIterable<string> {
  for await (const page of store.entryPages(catalog, serial, 'json')) {
    for (const text of page) yield Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString();
  }
}

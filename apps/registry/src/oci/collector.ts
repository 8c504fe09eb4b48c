import { setImmediate } from 'node:timers/promises';
import type { DeletableBlobs } from '@krmhub/catalog';
import type { BlobPosition, ManifestReader, ManifestStore } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';
import { deleteFilesUnnamed, deleteUnnamedFiles } from '../store/artifacts/unnamed-files.js';
import type { BytesLock } from '../workers/processes/processes.js';
import type { UploadSessions } from './upload-sessions.js';

interface CollectorDeps {
  store: ManifestReader & ManifestStore;
  artifacts: DeletableBlobs;
  uploads: UploadSessions;
  bytesLock: BytesLock;
  clock: () => Date;
  log: Log;
  config: {
    /** Days after which an untagged manifest is deleted; absent or 0 for never. */
    untaggedDays?: number;
  };
}

export interface Collected {
  uploads: number;
  manifests: number;
  blobs: number;
  files: number;
}

/**
 * Removes blobs that no manifest names, while the registry serves. It removes rows first, after a delay in
 * which a client may still push a manifest that names the blob. Then it removes the files that no row names.
 * The work can stop at any point without damage.
 */
export class Collector {
  readonly #deps: CollectorDeps;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(deps: CollectorDeps) {
    this.#deps = deps;
  }

  /** Collects at intervals until `stop`. */
  start(): void {
    this.#stopped = false;
    this.#schedule(SERVER_LIMITS.collectFirstMilliseconds);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Removes the file of a failed push, unless another repository has it. */
  removeSoon(file: Digest): void {
    void this.#run(() => deleteFilesUnnamed(this.#deps, [file]));
  }

  async collect(): Promise<Collected> {
    return this.#run(async () => {
      const { store, uploads, clock, config } = this.#deps;
      const now = clock().getTime();
      const collected: Collected = { uploads: await uploads.expire(), manifests: 0, blobs: 0, files: 0 };
      const days = config.untaggedDays ?? 0;
      if (days > 0) {
        const pushedBefore = new Date(now - days * 86_400_000).toISOString();
        collected.manifests = await store.deleteUntaggedManifests({
          pushedBefore,
          at: clock().toISOString(),
        });
      }
      const seenBefore = new Date(now - SERVER_LIMITS.collectDelayMilliseconds).toISOString();
      for (
        let after: BlobPosition | undefined = { repository: '', digest: '' };
        after !== undefined && !this.#stopped;
      ) {
        const page = await store.deleteUnreferencedBlobs({
          seenBefore,
          after,
          limit: SERVER_LIMITS.collectBatch,
        });
        collected.blobs += page.forgotten;
        after = page.last;
        await setImmediate();
      }
      collected.files = await deleteUnnamedFiles(this.#deps);
      return collected;
    });
  }

  /** Runs one collection at a time. */
  #run<Result>(work: () => Promise<Result>): Promise<Result> {
    const running = this.#running.then(work);
    this.#running = running.catch((error: unknown) => {
      this.#deps.log.error({ err: error }, 'cannot remove unused artifacts');
    });
    return running;
  }

  #schedule(milliseconds: number): void {
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      void this.collect()
        .then(
          (collected) => {
            const { log } = this.#deps;
            if (Object.values(collected).some((count) => count > 0))
              log.info(collected, 'unused artifacts removed');
          },
          () => undefined,
        )
        .finally(() => this.#schedule(SERVER_LIMITS.collectEveryMilliseconds));
    }, milliseconds);
    this.#timer.unref();
  }
}

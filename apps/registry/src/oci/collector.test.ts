import { setTimeout } from 'node:timers/promises';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import type { RegistryStore } from '../store/registry-store.js';
import { imageManifest, indexManifest, manifestDigest, testClient, toBytes } from '../testing/oci.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

const REPOSITORY = 'team/tools';
const DAY = 86_400_000;
let registry: TestRegistry;
const client = testClient(() => registry);
beforeEach(() => open());
afterEach(async () => {
  vi.useRealTimers();
  await registry.parts.collector.stop();
  await registry.close();
});

async function open(options: Parameters<typeof openTestRegistry>[0] = {}): Promise<void> {
  await registry?.close();
  registry = await openTestRegistry({ start: false, ...options });
}

const collect = () => registry.parts.collector.collect();
const requestStatus = async (path: string, method = 'GET', as?: string) =>
  (await client.request(method, `${REPOSITORY}/${path}`, as === undefined ? {} : { authorization: as }))
    .status;

/** Bytes that are a file. */
function large(text: string): string {
  return text.padEnd(SERVER_LIMITS.maxBlobRowBytes + 1, '.');
}

async function files(): Promise<string[]> {
  const found: string[] = [];
  for await (const file of registry.parts.artifacts.list()) found.push(file);
  return found.sort();
}

describe('a blob that no manifest names', () => {
  const { collectDelayMilliseconds, blobSeenMilliseconds } = SERVER_LIMITS;

  it('is stored for the delay, then removed with its file', async () => {
    await client.blob(REPOSITORY, large('lone'));
    registry.advance(collectDelayMilliseconds - 5_000);
    expect(await collect()).toEqual({ uploads: 0, manifests: 0, blobs: 0, files: 0 });
    expect(await files()).toEqual([sha256(large('lone'))]);
    registry.advance(5_001);
    expect(await collect()).toEqual({ uploads: 0, manifests: 0, blobs: 1, files: 1 });
    expect(await files()).toEqual([]);
    expect(await requestStatus(`blobs/${sha256(large('lone'))}`)).toBe(404);
    await client.blob(REPOSITORY, large('lone'));
    expect(await requestStatus(`blobs/${sha256(large('lone'))}`)).toBe(200);
  });

  it('is stored longer if a pushing client saw it', async () => {
    const [seen, read] = [
      await client.blob(REPOSITORY, large('seen')),
      await client.blob(REPOSITORY, large('read')),
    ];
    registry.advance(collectDelayMilliseconds - 5_000);
    expect(await requestStatus(`blobs/${seen}`, 'HEAD')).toBe(200);
    expect(await requestStatus(`blobs/${read}`, 'HEAD', '')).toBe(200);
    expect(await requestStatus(`blobs/${read}`)).toBe(200);
    registry.advance(5_001);
    expect((await collect()).blobs).toBe(1);
    expect(await files()).toEqual([seen]);
    registry.advance(collectDelayMilliseconds - 10_000);
    expect((await collect()).blobs).toBe(0);
    registry.advance(10_000);
    expect((await collect()).blobs).toBe(1);
  });

  it('is recorded as seen once per interval, not on each request', async () => {
    const digest = await client.blob(REPOSITORY, large('blob'));
    const seenAt = async () => (await registry.parts.store.blob(REPOSITORY, digest))!.seenAt;
    const first = await seenAt();
    registry.advance(blobSeenMilliseconds - 5_000);
    await requestStatus(`blobs/${digest}`, 'HEAD');
    expect(await seenAt()).toBe(first);
    registry.advance(5_001);
    await requestStatus(`blobs/${digest}`, 'HEAD');
    expect(Date.parse(await seenAt()) - Date.parse(first)).toBeGreaterThan(blobSeenMilliseconds);
  });

  it('stays if a manifest arrives between the query and the removal', async () => {
    const manifest = imageManifest([large('layer')]);
    const bytes = toBytes(JSON.stringify(manifest));
    const digest = manifestDigest(manifest);
    let arriving: Promise<void> | undefined;
    await open({
      wrapStore: (store: RegistryStore) => ({
        ...store,
        deleteUnreferencedBlobs: (options) => {
          // This write waits when the blobs are queried, and runs first.
          arriving ??= store.putManifest(
            REPOSITORY,
            {
              digest,
              mediaType: manifest.mediaType,
              size: bytes.length,
              bytes,
              references: [sha256(large('layer'))],
            },
            { at: options.seenBefore, by: 'tester', needed: [sha256(large('layer'))] },
          );
          return store.deleteUnreferencedBlobs(options);
        },
      }),
    });
    await client.blob(REPOSITORY, large('layer'));
    registry.advance(collectDelayMilliseconds * 2);
    expect(await collect()).toMatchObject({ blobs: 0, files: 0 });
    await arriving;
    expect(await requestStatus(`blobs/${sha256(large('layer'))}`)).toBe(200);
    expect(await files()).toEqual([sha256(large('layer'))]);
  });

  it('leaves its file if another repository has the blob', async () => {
    const digest = await client.image(REPOSITORY, 'v1', [large('shared')]);
    await client.blob('team/other', large('shared'));
    registry.advance(collectDelayMilliseconds + 1);
    expect(await collect()).toMatchObject({ blobs: 1, files: 0 });
    expect(await files()).toEqual([sha256(large('shared'))]);
    await client.request('DELETE', `${REPOSITORY}/manifests/${digest}`);
    expect(await collect()).toMatchObject({ blobs: 1, files: 1 });
    expect(await files()).toEqual([]);
  });
});

it('removes a small blob with its row', async () => {
  const isStored = async () => (await registry.parts.store.rowBytes(sha256('small'))) !== undefined;
  await client.blob(REPOSITORY, 'small');
  registry.advance(SERVER_LIMITS.collectDelayMilliseconds - 5_000);
  expect(await collect()).toEqual({ uploads: 0, manifests: 0, blobs: 0, files: 0 });
  expect([await isStored(), await files()]).toEqual([true, []]);
  registry.advance(5_001);
  expect(await collect()).toEqual({ uploads: 0, manifests: 0, blobs: 1, files: 0 });
  expect(await isStored()).toBe(false);
  expect(await requestStatus(`blobs/${sha256('small')}`)).toBe(404);
});

describe('files', () => {
  it('removes files that no row names, and no others', async () => {
    await client.image(REPOSITORY, 'v1', [large('named')]);
    const left = await registry.parts.artifacts.put(toBytes('left by a process that was ended'));
    expect(await files()).toEqual([sha256(large('named')), left].sort());
    expect(await collect()).toMatchObject({ blobs: 0, files: 1 });
    expect(await files()).toEqual([sha256(large('named'))]);
    expect(await requestStatus(`blobs/${sha256(large('named'))}`)).toBe(200);
  });

  it('removes files in batches of hundreds', async () => {
    const { collectBatch } = SERVER_LIMITS;
    const count = collectBatch + 20;
    await Promise.all(
      Array.from({ length: count }, (_, at) => registry.parts.artifacts.put(toBytes(`left ${at}`))),
    );
    await client.blob(REPOSITORY, large('kept'));
    expect(await collect()).toMatchObject({ files: count });
    expect(await files()).toEqual([sha256(large('kept'))]);
  });

  it('never removes a file between its arrival and its row', async () => {
    let addBlob: () => Promise<void> = async () => undefined;
    await open({
      wrapStore: (store: RegistryStore) => ({
        ...store,
        addBlob: async (...given) => {
          await addBlob();
          return store.addBlob(...given);
        },
      }),
    });
    let go: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      addBlob = () => {
        resolve();
        return new Promise((release) => {
          go = release;
        });
      };
    });
    const pushing = client.blob(REPOSITORY, large('new'));
    await waiting;
    expect(await files()).toEqual([sha256(large('new'))]);
    const collecting = collect();
    await setTimeout(50);
    expect(await files()).toEqual([sha256(large('new'))]);
    go();
    await pushing;
    expect(await collecting).toMatchObject({ files: 0 });
    expect(await requestStatus(`blobs/${sha256(large('new'))}`)).toBe(200);
  });

  it('never damages a file while blobs come and go', async () => {
    for (let round = 0; round < 10; round++) {
      const texts = Array.from({ length: 5 }, (_, at) => large(`blob ${at}`));
      await Promise.all([
        ...texts.map((text, at) => client.image(REPOSITORY, `t-${at}`, [text])),
        collect(),
        collect(),
      ]);
      for (const text of texts) {
        const response = await client.request('GET', `${REPOSITORY}/blobs/${sha256(text)}`);
        expect(await response.text()).toBe(text);
      }
      registry.advance(SERVER_LIMITS.collectDelayMilliseconds + 1);
      await Promise.all(
        texts.map((text) =>
          client.request('DELETE', `${REPOSITORY}/manifests/${manifestDigest(imageManifest([text]))}`),
        ),
      );
    }
    expect(await collect()).toMatchObject({ blobs: 5, files: 5 });
    expect(await registry.parts.store.countBytes(REPOSITORY)).toBe(0);
  });
});

describe('manifests without a tag', () => {
  const push = async () => {
    const [lone, child] = [imageManifest([large('lone')]), imageManifest([large('child')])];
    await client.image(REPOSITORY, manifestDigest(lone), [large('lone')]);
    await client.image(REPOSITORY, manifestDigest(child), [large('child')]);
    expect((await client.put(REPOSITORY, 'v1', indexManifest([child]))).status).toBe(201);
    return { lone: manifestDigest(lone), child: manifestDigest(child) };
  };

  it('are stored forever by default', async () => {
    const { lone } = await push();
    registry.advance(3_650 * DAY);
    expect(await collect()).toEqual({ uploads: 0, manifests: 0, blobs: 0, files: 0 });
    expect(await requestStatus(`manifests/${lone}`)).toBe(200);
  });

  it('are removed after the configured days with their blobs, but not if a tagged index names them', async () => {
    await open({ config: { untaggedDays: 7 } });
    const { lone, child } = await push();
    registry.advance(7 * DAY - 10_000);
    expect((await collect()).manifests).toBe(0);
    registry.advance(10_001);
    expect(await collect()).toEqual({ uploads: 0, manifests: 1, blobs: 1, files: 1 });
    expect([await requestStatus(`manifests/${lone}`), await requestStatus(`manifests/${child}`)]).toEqual([
      404, 200,
    ]);
    expect(await files()).toEqual([sha256(large('child'))]);
  });
});

describe('the schedule', () => {
  it('starts after a delay, and repeats', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const { collector } = registry.parts;
    const spy = vi
      .spyOn(collector, 'collect')
      .mockResolvedValue({ uploads: 0, manifests: 0, blobs: 0, files: 0 });
    const { collectFirstMilliseconds, collectEveryMilliseconds } = SERVER_LIMITS;
    await vi.advanceTimersByTimeAsync(collectEveryMilliseconds * 10);
    expect(spy).toHaveBeenCalledTimes(0);
    collector.start();
    await vi.advanceTimersByTimeAsync(collectFirstMilliseconds - 1);
    expect(spy).toHaveBeenCalledTimes(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(spy).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(collectEveryMilliseconds - 1);
    expect(spy).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(spy).toHaveBeenCalledTimes(2);
    await vi.advanceTimersByTimeAsync(collectEveryMilliseconds);
    expect(spy).toHaveBeenCalledTimes(3);
    await collector.stop();
    await vi.advanceTimersByTimeAsync(collectEveryMilliseconds * 3);
    expect(spy).toHaveBeenCalledTimes(3);
  });

  it('continues after a failure, and logs it', async () => {
    let failing = true;
    await open({
      wrapStore: (store: RegistryStore) => ({
        ...store,
        deleteUnreferencedBlobs: (options) =>
          failing ? Promise.reject(new Error('locked')) : store.deleteUnreferencedBlobs(options),
      }),
    });
    await expect(collect()).rejects.toThrow('locked');
    expect(registry.logged.some((line) => line.includes('cannot remove unused artifacts'))).toBe(true);
    failing = false;
    expect(await collect()).toMatchObject({ blobs: 0 });
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { definitionText } from './catalog-build.js';
import { type TestRegistry, testRegistry } from './command-line.js';
import { type RecordingProxy, recordingProxy } from './recording-proxy.js';

/** The group that `publish` publishes to. */
export const GROUP = 'functions.example.com';

/**
 * A registry of a test file, behind a proxy that records its requests, and a user who has a new folder in each test.
 */
export interface ProxiedRegistry {
  registry: TestRegistry;
  client: RegistryClient;
  proxy: RecordingProxy;
  /** Has the folders of all tests. */
  root: string;
  /** Of the running test. */
  folder: string;
  /** The environment of that user, to whom no registry is known. */
  env(): { HOME: string; KRMHUB_CACHE: string };
  /** `default`, at the proxy. */
  catalogUrl(): string;
  /** Paths of the requests in this test. */
  paths(): string[];
  publish(kind: string, release: string): Promise<void>;
}

/** Opens it before the tests of a file, with settings by their names in the environment, and closes it after them. */
export function proxiedRegistry(settings: Record<string, string> = {}): ProxiedRegistry {
  const place: Omit<ProxiedRegistry, 'registry' | 'client' | 'proxy' | 'root' | 'folder'> = {
    env: () => ({ HOME: opened.folder, KRMHUB_CACHE: path.join(opened.folder, 'cache') }),
    catalogUrl: () => `${opened.proxy.url}/catalogs/default`,
    paths: () => opened.proxy.requests.map((one) => one.path),
    async publish(kind, release) {
      const definition = new TextEncoder().encode(definitionText({ group: GROUP, kind, release }));
      const name = { group: GROUP, kind, release, mediaType: 'application/yaml' as const };
      await opened.client.publish({ ...name, definition, wait: true });
    },
  };
  const opened = place as ProxiedRegistry;
  beforeAll(async () => {
    opened.root = await mkdtemp(path.join(tmpdir(), 'krmhub-proxied-'));
    opened.registry = await testRegistry(settings);
    opened.client = new RegistryClient(opened.registry);
    opened.proxy = await recordingProxy(opened.registry.url);
  });
  afterAll(async () => {
    opened.proxy.close();
    await opened.registry.close();
    await rm(opened.root, { recursive: true, force: true });
  });
  beforeEach(async () => {
    opened.folder = await mkdtemp(path.join(opened.root, 'user-'));
    opened.proxy.requests.length = 0;
  });
  afterEach(() => {
    opened.proxy.intercept = () => false;
  });
  return opened;
}

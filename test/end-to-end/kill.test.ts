import path from 'node:path';
import { sha256 } from '@krmhub/schema';
import { afterAll, describe, expect, it } from 'vitest';
import { type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

const { folder, remove } = temporaryFolder();
afterAll(remove);

const rounds = 8;
const publishers = 4;

function definition(kind: string, release: string): string {
  return `apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: kill.example.com
  names: {kind: ${kind}}
  description: Published during a power failure.
  publisher: Example Co
  versions:
  - name: v1
    idempotent: true
    license: Apache-2.0
    usage: https://example.com/${kind}/README.md
    examples: [https://example.com/${kind}/example.md]
    runtime: {container: {image: 'registry.example.com/kill:v${release}', sha256: ${sha256(release).slice(7)}}}
    schema: {openAPIV3Schema: {type: object, description: Nothing., properties: {text: {type: string, description: Any text.}}}}
`;
}

/** Publishes until the connection breaks and returns the acknowledged releases. */
async function publishUntilKilled(
  registry: RunningRegistry,
  kind: string,
  round: number,
  acknowledged: Map<string, string>,
): Promise<void> {
  for (let patch = 0; ; patch++) {
    const release = `${round}.0.${patch}`;
    const body = definition(kind, release);
    try {
      const response = await fetch(
        `${registry.url}/api/v1/functions/kill.example.com/${kind}/releases/${release}`,
        {
          method: 'PUT',
          headers: { authorization: `Bearer ${registry.token}`, 'content-type': 'application/yaml' },
          body,
        },
      );
      if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`);
      acknowledged.set(`${kind}/releases/${release}`, body);
      await response.arrayBuffer();
    } catch (error) {
      if (error instanceof TypeError) return;
      throw error;
    }
  }
}

describe('a SIGKILL while releases are published', () => {
  it('loses no acknowledged release, and the catalog has the newest of each', async () => {
    const acknowledged = new Map<string, string>();
    const data = path.join(folder, 'data');
    for (let round = 1; round <= rounds; round++) {
      const registry = await startRegistry(data);
      const before = acknowledged.size;
      const work = Array.from({ length: publishers }, (_, index) =>
        publishUntilKilled(registry, `Killed${index}`, round, acknowledged),
      );
      await expect.poll(() => acknowledged.size).toBeGreaterThan(before);
      await new Promise((resolve) => setTimeout(resolve, round * 70));
      await registry.stop('SIGKILL');
      await Promise.all(work);
    }

    const registry = await startRegistry(data);
    for (const [release, body] of acknowledged) {
      const response = await fetch(
        `${registry.url}/api/v1/functions/kill.example.com/${release}/definition.yaml`,
      );
      expect([release, response.status, await response.text()]).toEqual([release, 200, body]);
    }
    const read = async (target: string) => (await fetch(`${registry.url}${target}`)).text();
    for (let index = 0; index < publishers; index++) {
      const { releases } = JSON.parse(await read(`/api/v1/functions/kill.example.com/Killed${index}`)) as {
        releases: { release: string }[];
      };
      // The snapshot is built after the start, and may be the first one.
      await expect
        .poll(() => read('/catalogs/default/catalog.yaml'))
        .toContain(`registry.example.com/kill:v${releases[0]!.release}`);
    }
    expect(await registry.stop()).toBe(0);
  });
});

import { realpathSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { documentRoot, readDocument, writeGoYaml } from '@krmhub/schema/resource-yaml';
import { Random } from '@krmhub/yaml/testing/random';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuildUser, missingOracles, ORACLES } from './build-user.js';
import { titleWithReason } from './oci-tools.js';
import { randomResource } from './yaml-documents.js';

/** What krmhub writes as kustomize does is what real kustomize prints for the same resource. */

const why = missingOracles();
const COUNT = 300;

describe.skipIf(why !== undefined)(titleWithReason('a resource', why), () => {
  let folder: string;
  let user: BuildUser;
  beforeAll(async () => {
    folder = realpathSync(await mkdtemp(path.join(tmpdir(), 'krmhub-go-yaml-')));
    user = new BuildUser(folder);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([1, 2, 3])('is written as kustomize and kubectl print it, seed %i', async (seed) => {
    const random = new Random(seed);
    const resources = Array.from({ length: COUNT }, (_, index) => randomResource(random, `r${1000 + index}`));
    user.write({
      'app/kustomization.yaml': 'resources: [all.yaml]\n',
      'app/all.yaml': resources.join('---\n'),
    });
    const written = resources.map((text) => writeGoYaml(documentRoot(readDocument(text, 'a resource')!)));
    for (const oracle of ORACLES) {
      const { code, stdout, stderr } = await user.byHand(oracle, 'app');
      expect(code, stderr.slice(-500)).toBe(0);
      const printed = stdout.split(/^---\n/m);
      expect(printed).toHaveLength(COUNT);
      const compared = written.flatMap((text, index) => (text === undefined ? [] : [index]));
      expect(compared.map((index) => written[index])).toEqual(compared.map((index) => printed[index]));
      expect(compared.length).toBeGreaterThan(COUNT / 2);
    }
  });
});

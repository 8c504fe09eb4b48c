import { describe, expect, it } from 'vitest';
import { stepImage } from './step-image.js';

const CATALOG = 'ghcr.io/kptdev/krm-functions-catalog';
const DIGEST = `sha256:${'5'.repeat(64)}`;

describe('the image of a step', () => {
  it.each<[image: string, tag: string | undefined, prefix: string | undefined, text: string]>([
    ['set-labels', undefined, undefined, `${CATALOG}/set-labels:latest`],
    ['set-labels:v0.2', undefined, undefined, `${CATALOG}/set-labels:v0.2`],
    ['set-labels', undefined, 'localhost:5000/fns/', 'localhost:5000/fns/set-labels:latest'],
    ['docker.io/a/b', undefined, 'localhost:5000', 'docker.io/a/b:latest'],
    ['set-labels', undefined, '', 'set-labels:latest'],
    ['set-labels:v0.1', 'v0.2.1', undefined, `${CATALOG}/set-labels:v0.2.1`],
    ['localhost:5000/a', '1.2', undefined, 'localhost:5000/a:1.2'],
    ['a/b', 'master-git-38f885f', undefined, 'a/b:master-git-38f885f'],
    [`a/b:v1@${DIGEST}`, undefined, undefined, `a/b:v1@${DIGEST}`],
    [`a/b:v1@${DIGEST}`, 'v2', undefined, 'a/b:v2'],
  ])('%s with the tag %s and the prefix %s is %s', async (image, tag, prefix, text) => {
    expect(await stepImage({ image, tag }, prefix)).toEqual({ text, reference: text });
  });

  it('can be a constraint on its tags', async () => {
    const repository = `${CATALOG}/set-labels`;
    expect(await stepImage({ image: 'set-labels:v9', tag: '>=0.1.0 <1.0.0' })).toEqual({
      text: `${repository}:>=0.1.0 <1.0.0`,
      repository,
      constraint: '>=0.1.0 <1.0.0',
    });
  });

  it.each(['v0.3.1+build', '>>0.1', 'a b'])('cannot have the tag %s', async (tag) => {
    await expect(stepImage({ image: 'a/b', tag })).rejects.toThrow(
      /neither a tag of an image nor a version constraint/,
    );
  });
});

import { describe, expect, it } from 'vitest';
import type { UploadStore } from '../../apps/registry/src/store/upload-store.js';
import { AT } from './sample-records.js';

const LATER = '2030-02-02T03:04:05.678Z';
const LIMITS = { max: 10, maxOfToken: 10 };

/** The contract of every UploadStore. */
export function uploadContract(store: () => UploadStore): void {
  const add = (id: string, more: { token?: string; owner?: string } = {}, limits = LIMITS) =>
    store().addUpload({ id, repository: 'team/a', token: 'one', at: AT, ...more }, limits);
  const others = (repository: string, id = 'other') => store().bytesOfOtherUploads({ id, repository });
  const of = (id: string, owner: string, at = AT) => ({ id, owner, at });

  describe('uploads', () => {
    it('are owned by one request at a time, which adds pieces', async () => {
      expect(await add('a')).toBe('added');
      expect(await store().takeUpload(of('none', 'x'), AT)).toBeUndefined();
      const upload = { id: 'a', repository: 'team/a', token: 'one', size: 0 };
      expect(await store().takeUpload(of('a', 'x'), AT)).toEqual({ upload, pieces: [] });
      expect(await store().takeUpload(of('a', 'y'), AT)).toBe('busy');
      expect(await store().addUploadPiece(of('a', 'y'), { name: 'wrong', size: 1 })).toBe(false);
      for (const name of ['2', '1']) {
        expect(await store().addUploadPiece(of('a', 'x'), { name, size: 3 })).toBe(true);
      }
      expect([await store().renewUpload(of('a', 'x')), await store().renewUpload(of('a', 'y'))]).toEqual([
        true,
        false,
      ]);
      expect([await others('team/a'), await others('team/b'), await others('team/a', 'a')]).toEqual([
        6, 0, 0,
      ]);
      await store().releaseUpload(of('a', 'y'));
      expect(await store().takeUpload(of('a', 'y'), AT)).toBe('busy');
      await store().releaseUpload(of('a', 'x'));
      const taken = { upload: { ...upload, size: 6 }, pieces: ['2', '1'] };
      expect(await store().takeUpload(of('a', 'y'), AT)).toEqual(taken);
      expect(await store().takeUpload(of('a', 'z'), LATER)).toEqual(taken);
      expect(await store().endUpload(of('a', 'y'))).toBeUndefined();
      expect(await store().endUpload(of('a', 'z'))).toEqual(['2', '1']);
      expect(await store().endUpload(of('a', 'z'))).toBeUndefined();
      expect(await store().upload('a')).toBeUndefined();
    });

    it.each(['released', 'lost'])('count reserved bytes until they are %s', async (ended) => {
      await add('a');
      await store().takeUpload(of('a', 'x'), AT);
      await store().addUploadPiece(of('a', 'x'), { name: 'p', size: 3 });
      expect(await store().reserveUploadBytes(of('a', 'y'), 100)).toBe(false);
      for (const size of [10, 20]) expect(await store().reserveUploadBytes(of('a', 'x'), size)).toBe(true);
      expect([await others('team/a'), (await store().upload('a'))?.size]).toEqual([33, 3]);
      if (ended === 'released') {
        await store().releaseUpload(of('a', 'x'));
        expect(await others('team/a')).toBe(3);
      }
      const taken = await store().takeUpload(of('a', 'y', LATER), LATER);
      expect(taken).toMatchObject({ upload: { size: 3 }, pieces: ['p'] });
      expect(await others('team/a')).toBe(3);
      expect(await store().addUploadPiece(of('a', 'y', LATER), { name: 'q', size: 4 })).toBe(true);
      expect(await store().reserveUploadBytes(of('a', 'y', LATER), 5)).toBe(true);
      expect(await others('team/a')).toBe(12);
      expect(await store().endUpload(of('a', 'y'))).toEqual(['p', 'q']);
      await add('b', { owner: 'x' });
      await store().reserveUploadBytes(of('b', 'x'), 1);
      expect(await store().endIdleUploads(LATER)).toEqual({ ended: 1, pieces: [] });
    });

    it('have limits, and end when they are idle', async () => {
      await add('a', { owner: 'x' });
      expect(await store().takeUpload(of('a', 'y'), AT)).toBe('busy');
      expect(await add('b', {}, { max: 10, maxOfToken: 1 })).toBe('too-many-of-token');
      expect(await add('b', { token: 'two' }, { max: 10, maxOfToken: 1 })).toBe('added');
      expect(await add('c', { token: 'three' }, { max: 2, maxOfToken: 1 })).toBe('too-many');
      await store().addUploadPiece(of('a', 'x'), { name: 'p', size: 1 });
      await store().takeUpload(of('b', 'x', LATER), AT);
      expect(await store().endIdleUploads(AT)).toEqual({ ended: 0, pieces: [] });
      expect(await store().openUploads()).toEqual(new Set(['a', 'b']));
      expect(await store().endIdleUploads(LATER)).toEqual({ ended: 1, pieces: ['p'] });
      expect(await store().openUploads()).toEqual(new Set(['b']));
    });
  });
}

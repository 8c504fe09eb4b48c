import { Random } from '@krmhub/yaml/testing/random';
import { expect, it } from 'vitest';
import { ScimClient } from '../testing/scim-client.js';
import { PAGE_SIZE } from './read-query.js';

interface Resource {
  id: string;
  userName?: string;
  members?: { value: string }[];
}

/** Reads a list as a client does that goes on where a page ended, with another size of page each time. */
async function readPages(
  directory: ScimClient,
  list: 'Users' | 'Groups',
  nextCount: () => number,
): Promise<Resource[]> {
  const found: Resource[] = [];
  for (let startIndex = 1, requests = 0; ; requests += 1) {
    expect(requests).toBeLessThan(1_000);
    const count = nextCount();
    const { status, body } = await directory.send('GET', `/${list}?startIndex=${startIndex}&count=${count}`);
    const { Resources, totalResults, itemsPerPage } = body;
    expect([status, itemsPerPage, body.startIndex]).toEqual([200, Resources.length, startIndex]);
    expect(itemsPerPage).toBeLessThanOrEqual(Math.min(count, PAGE_SIZE.max));
    found.push(...Resources);
    startIndex += itemsPerPage;
    // A page may have fewer than the client wants, but is only empty after the last one.
    if (itemsPerPage === 0) {
      expect(found.length).toBe(totalResults);
      return found;
    }
  }
}

it('pages of the directory have each user and group once, whatever their sizes, and end', async () => {
  const directory = await ScimClient.open();
  const random = new Random(11);
  try {
    for (let round = 0; round < 4; round += 1) {
      for (let added = random.below(90); added > 0; added -= 1)
        await directory.addUser(`user-${round}-${random.below(1e9)}`);
      const users = await readPages(directory, 'Users', () => 1 + random.below(300));
      const ids = users.map(({ id }) => id);
      for (const { id } of random.some(users, 0.1))
        expect((await directory.send('DELETE', `/Users/${id}`)).status).toBe(204);
      for (let added = random.below(9); added > 0; added -= 1) {
        const left = (await readPages(directory, 'Users', () => 200)).map(({ id }) => id);
        await directory.addGroup(`group-${round}-${added}`, random.some(left, random.next()));
      }
      const remaining = await directory.registry.parts.store.users({ limit: 1_000 });
      const managed = remaining.filter(({ directory: entry }) => entry !== undefined);
      const after = await readPages(directory, 'Users', () => 1 + random.below(20));
      expect(new Set(after.map(({ id }) => id)).size).toBe(after.length);
      expect(after.map(({ userName }) => userName).sort()).toEqual(
        managed.map(({ subject }) => subject).sort(),
      );
      expect(ids).toEqual(expect.arrayContaining(after.map(({ id }) => id)));
      const groups = await readPages(directory, 'Groups', () => 1 + random.below(4));
      const whole = await readPages(directory, 'Groups', () => 200);
      expect(groups).toEqual(whole);
      expect(new Set(groups.map(({ id }) => id)).size).toBe(groups.length);
      for (const { id, members = [] } of groups) {
        expect(after.map((user) => user.id)).toEqual(
          expect.arrayContaining(members.map(({ value }) => value)),
        );
        expect((await directory.send('GET', `/Groups/${id}`)).body.members ?? []).toEqual(members);
      }
    }
  } finally {
    await directory.registry.close();
  }
});

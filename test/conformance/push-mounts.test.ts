import { describe, expect, it } from 'vitest';
import { expectBlob, expectDeleted } from './data-set-steps.js';
import {
  ALGORITHMS,
  blob,
  conformanceRegistry,
  digestOf,
  newRepository,
  OCTETS,
  someBytes,
  uploads,
  withQuery,
} from './oci-requests.js';

const requests = conformanceRegistry();

const mount = (repository: string, query: { mount: string; from?: string }) =>
  requests.send('POST', withQuery(uploads(repository), query));

describe.each(ALGORITHMS)('a blob by %s', (algorithm) => {
  it.each([
    ['from the repository that has it', true],
    ['from any repository that has it', false],
  ])('is mounted %s', async (_, named) => {
    const [one, two] = [newRepository(), newRepository()];
    const bytes = someBytes(512);
    const digest = await requests.pushBlob(two, bytes, digestOf(bytes, algorithm));
    const answer = await mount(one, { mount: digest, ...(named && { from: two }) });
    expect(answer.status).toBe(201);
    expect(answer.headers.location).toBe(blob(one, digest));
    expectBlob(await requests.get(requests.location(answer)), bytes, digest);
  });

  it.each([
    ['from a repository that exists', true],
    ['from any repository', false],
  ])('that does not exist is not mounted %s: the response starts an upload', async (_, named) => {
    const [one, two] = [newRepository(), newRepository()];
    await requests.pushBlob(two, someBytes(8));
    const bytes = someBytes(512);
    const digest = digestOf(bytes, algorithm);
    const answer = await mount(one, { mount: digest, ...(named && { from: two }) });
    expect(answer.status).toBe(202);
    const place = requests.location(answer);
    expect(place).toMatch(new RegExp(`^${uploads(one)}.`));
    const sent = { headers: OCTETS, body: bytes };
    const closed = await requests.send('PUT', withQuery(place, { digest }), sent);
    expect(closed.status).toBe(201);
    expectBlob(await requests.get(requests.location(closed)), bytes, digest);
  });

  it('is not mounted from a repository that does not exist, although another has it', async () => {
    const bytes = someBytes(512);
    const digest = await requests.pushBlob(newRepository(), bytes, digestOf(bytes, algorithm));
    const answer = await mount(newRepository(), { mount: digest, from: newRepository() });
    expect(answer.status).toBe(202);
  });

  it('that was mounted is deleted in each repository separately', async () => {
    const [one, two] = [newRepository(), newRepository()];
    const bytes = someBytes(512);
    const digest = await requests.pushBlob(two, bytes, digestOf(bytes, algorithm));
    expect((await mount(one, { mount: digest, from: two })).status).toBe(201);
    await expectDeleted(requests, blob(one, digest));
    expectBlob(await requests.get(blob(two, digest)), bytes, digest);
    await expectDeleted(requests, blob(two, digest));
  });

  it.each([
    ['no bytes', Buffer.alloc(0)],
    ['the empty object', Buffer.from('{}')],
  ])('of %s is mounted like any other', async (_, bytes) => {
    const [one, two] = [newRepository(), newRepository()];
    const digest = await requests.pushBlob(two, bytes, digestOf(bytes, algorithm));
    const answer = await mount(one, { mount: digest, from: two });
    expect(answer.status).toBe(201);
    expectBlob(await requests.get(requests.location(answer)), bytes, digest);
  });
});

import { expect, it } from 'vitest';
import { applyAccess } from '../testing/access.js';
import { openTestRegistry } from '../testing/test-registry.js';
import { createApp } from './app.js';

it('shows nothing internal to an address while the process may not know that it became private', async () => {
  const registry = await openTestRegistry({ config: { internalAddresses: ['10.0.0.0/8'] } });
  try {
    await registry.publish({ group: 'inside.example.com', kind: 'Known', release: '1.0.0' });
    await applyAccess(registry, 'groups: [{pattern: inside.example.com, visibility: internal}]\n');
    let isCurrent = true;
    const app = createApp({ ...registry.parts, isCurrent: () => isCurrent });
    const headers = { host: '10.0.0.1' };
    const incoming = { socket: { remoteAddress: '10.0.0.7' }, headers };
    const read = async (kind: string) => {
      const target = `http://10.0.0.1/api/v1/functions/inside.example.com/${kind}`;
      const response = await app.request(
        target,
        { headers: { ...headers, 'X-Request-Id': 'same' } },
        { incoming },
      );
      const text = `${JSON.stringify([...response.headers])} ${await response.text()}`;
      return [response.status, text.replaceAll(kind, 'KIND').replace(/"content-length","\d+"/, '')];
    };
    expect((await read('Known'))[0]).toBe(200);
    isCurrent = false;
    expect(await read('Known')).toEqual(await read('Absent'));
    isCurrent = true;
    expect((await read('Known'))[0]).toBe(200);
  } finally {
    await registry.close();
  }
});

import { describe, expect, it } from 'vitest';
import { readConfig } from '../../server/config.js';
import { openTestRegistry } from '../../testing/test-registry.js';

const contact = (value: string) => readConfig({ KRMHUB_SECURITY_CONTACT: value }).securityContacts;

describe('security.txt', () => {
  it('has the contacts of the operator, and expires', async () => {
    const contacts = contact('mailto:security@example.com, https://example.com/report')!;
    const publicUrl = 'https://krm.example.com/hub';
    const registry = await openTestRegistry({ config: { securityContacts: contacts, publicUrl } });
    try {
      const response = await registry.request('/.well-known/security.txt');
      expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
      const lines = (await response.text()).split('\n');
      expect(lines).toEqual([
        'Contact: mailto:security@example.com',
        'Contact: https://example.com/report',
        expect.stringMatching(/^Expires: \d{4}-\d\d-\d\dT00:00:00\.000Z$/),
        'Canonical: https://krm.example.com/hub/.well-known/security.txt',
        '',
      ]);
      expect(Date.parse(lines[2]!.slice('Expires: '.length))).toBeGreaterThan(Date.now());
    } finally {
      await registry.close();
    }
  });

  it('is not there without a contact', async () => {
    const registry = await openTestRegistry();
    const response = await registry.request('/.well-known/security.txt');
    expect([response.status, await response.text()]).toEqual([
      404,
      expect.stringContaining('KRMHUB_SECURITY_CONTACT'),
    ]);
    await registry.close();
  });

  it.each([
    'security@example.com',
    'http://example.com',
    'https://',
    'mailto:a@b.example\nContact: x',
    'mailto:x,',
  ])('refuses the contact %s', (value) => {
    expect(() => contact(value)).toThrow('KRMHUB_SECURITY_CONTACT');
  });
});

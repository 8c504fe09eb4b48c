import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { renderResponseSchemas } from './render-response-schemas.js';
import { findMismatch } from './response-schema.js';

describe('generated/response-schemas.ts', () => {
  it('is what the route contract renders to', async () => {
    const file = new URL('./generated/response-schemas.ts', import.meta.url);
    expect(await readFile(file, 'utf8')).toBe(renderResponseSchemas());
  });
});

describe('findMismatch', () => {
  const page = { events: [], next: 0 };
  const event = { sequence: 1, type: 'release.published', at: '2030-01-02T03:04:05.678Z', by: 'ci' };

  it('accepts values, formats and fields of a newer registry', () => {
    const newer = { ...event, type: 'release.renamed', at: 'tomorrow', new: true };
    expect(findMismatch({ events: [newer], next: 1 }, { $ref: 'EventPage' })).toBeUndefined();
  });

  it.each([
    ['another type at the top', [], 'the document root'],
    ['a missing field', { next: 0 }, 'events'],
    ['an object in place of an array', { ...page, events: {} }, 'events'],
    ['null in place of an object', { ...page, events: [event, null] }, 'events[1]'],
    ['a wrong field of an item', { ...page, events: [{ ...event, by: 1 }] }, 'events[0].by'],
    ['null in place of an absent field', { ...page, events: [{ ...event, group: null }] }, 'events[0].group'],
  ])('returns the path of %s', (_, value, path) => {
    expect(findMismatch(value, { $ref: 'EventPage' })).toBe(path);
  });

  it('accepts null only for fields that may be null', () => {
    const schema = {
      type: 'object',
      properties: { previous: { type: ['string', 'null'] } },
      required: ['previous'],
    };
    expect(findMismatch({ previous: null }, schema)).toBeUndefined();
    expect(findMismatch({ previous: 'sha256:…' }, schema)).toBeUndefined();
    expect(findMismatch({ previous: 7 }, schema)).toBe('previous');
    expect(findMismatch({}, schema)).toBe('previous');
  });
});

import { describe, expect, it } from 'vitest';
import { jsonText } from './print.js';

describe('jsonText', () => {
  it('escapes control and invisible characters, and stays the same JSON', () => {
    const data = { text: 'a\u001b[2J\u007f\u009b31m\u202e\u200b\u2066\ufeff\ufff9\u{e0041}\u{e007f}ä日😀' };
    const text = jsonText(data);
    expect(text.replaceAll('\n', '')).not.toMatch(
      /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u,
    );
    expect(text).toContain('ä日😀');
    expect(JSON.parse(text)).toEqual(data);
  });
});

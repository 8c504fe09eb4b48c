import { expect, it } from 'vitest';
import { BodyMemory } from './body-memory.js';

it('leaves memory for others when one client has used up its share', () => {
  const memory = new BodyMemory({ total: 100, share: 40 });
  const first = memory.lease('a');
  first.resize(10);
  first.resize(40);
  expect(() => memory.lease('a').resize(1)).toThrow('of this client');
  const other = memory.lease('b');
  other.resize(40);
  const third = memory.lease('c');
  third.resize(20);
  expect(() => third.resize(21)).toThrow(/^too many request bodies arrive/);
  first.end();
  first.end();
  third.resize(40);
  third.resize(5);
  expect(memory.used).toBe(45);
  other.end();
  third.end();
  expect(memory.used).toBe(0);
});

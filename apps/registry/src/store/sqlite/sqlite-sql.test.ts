import { afterEach, beforeEach, expect, it } from 'vitest';
import { text, together } from '../sql/statement.js';
import { type Connection, openConnection } from './connection.js';

const add = text<{ value: string }>(
  'INSERT INTO setting (name, value) VALUES (:name, :value) RETURNING value',
);
const all = text<{ value: string }>('SELECT value FROM setting ORDER BY name');
const find = text<{ value: string }>('SELECT value FROM setting WHERE name = :name');

let connection: Connection;
beforeEach(() => {
  connection = openConnection(':memory:');
});
afterEach(() => connection.close());

it('runs changes together in their order, or none of them', async () => {
  const { sql } = connection;
  const names = ['a', 'b', 'c'];
  await sql.write(() => together(names.map((name) => add.later({ name, value: name.toUpperCase() }))));
  expect(await sql.readOne(() => all.all())).toEqual(names.map((name) => ({ value: name.toUpperCase() })));
  const again = sql.write(() =>
    together([add.later({ name: 'd', value: '' }), add.later({ name: 'a', value: '' })]),
  );
  await expect(again).rejects.toThrow('UNIQUE');
  expect(await sql.readOne(() => find.first({ name: 'd' }))).toBeUndefined();
  expect(await sql.write(() => together([]))).toBeUndefined();
});

it('refuses a second statement of work that may have one', async () => {
  const work = connection.sql.readOne(function* () {
    yield* find.first({ name: 'a' });
    yield* find.first({ name: 'b' });
  });
  await expect(work).rejects.toThrow('the work has more than one statement');
});

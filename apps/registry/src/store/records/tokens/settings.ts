import type { SettingStore } from '../../setting-store.js';
import type { Sql } from '../../sql/sql.js';
import { text } from '../../sql/statement.js';

const byName = text<{ value: string }>('SELECT value FROM setting WHERE name = :name');
const put = text(
  `INSERT INTO setting (name, value) VALUES (:name, :value)
   ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
);

export function settingRows({ read, write }: Sql): SettingStore {
  return {
    setting: (name) =>
      read(function* () {
        return (yield* byName.first({ name }))?.value;
      }),
    changeSetting: (name, before, value) =>
      write(function* () {
        const current = (yield* byName.first({ name }))?.value;
        if (current !== before && current !== undefined) return current;
        if (current === before) yield* put.run({ name, value });
        else throw new Error(`the setting ${name} was deleted`);
        return value;
      }),
  };
}

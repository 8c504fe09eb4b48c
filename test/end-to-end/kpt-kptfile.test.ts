import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { krmhub, sharedData, temporaryFolder } from '../running.js';

/** Packages of kpt 1.0: what it writes, and what its Kptfiles can say. */

const { folder, remove } = temporaryFolder();
afterAll(remove);

const RENDERS = path.join(sharedData, 'kpt-1.0');
const missing = existsSync(RENDERS) ? '' : ' (skipped: ../shared/data is not there)';

describe.skipIf(missing !== '')(`renders of kpt 1.0${missing}`, () => {
  it.each(['nested', 'nopipeline', 'fails', 'savefail'])(
    'come out the same but for layout: %s',
    async (name) => {
      const place = path.join(folder, `render-${name}`);
      mkdirSync(place);
      cpSync(path.join(RENDERS, name, 'in'), path.join(place, name), { recursive: true });
      for (const program of ['ok.sh', 'fail.sh', 'chg.sh']) {
        writeFileSync(path.join(place, program), readFileSync(path.join(RENDERS, program)));
        chmodSync(path.join(place, program), 0o755);
      }
      const render = () => krmhub(['fn', 'render', name, '--allow-package-exec'], { cwd: place });
      const first = await render();
      expect(first.code, first.stderr).toBe(name.includes('fail') ? 1 : 0);
      expect(files(path.join(place, name))).toEqual(files(path.join(RENDERS, name, 'out')));
      const text = () => readFileSync(path.join(place, name, 'Kptfile'), 'utf8');
      const before = readFileSync(path.join(RENDERS, name, 'in/Kptfile'), 'utf8');
      expect(text().startsWith(before)).toBe(true);
      const written = text();
      // A second render that changes nothing else writes nothing. `savefail` has another input then.
      await render();
      if (name !== 'savefail') expect(text()).toBe(written);
    },
  );
});

/** The values of the Kptfiles, and the text of the other files, by path. */
function files(place: string): Record<string, unknown> {
  const names = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\w+file$|yaml$/.test(name),
  );
  return Object.fromEntries(
    names.map((name) => {
      const text = readFileSync(path.join(place, name), 'utf8');
      return [name, path.basename(name) === 'Kptfile' ? parse(text) : text];
    }),
  );
}

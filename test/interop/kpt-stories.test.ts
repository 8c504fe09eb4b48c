import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { whyNoContainers } from './container-engine.js';
import { ExampleCo, JAVA, SECRETS, succeeded } from './example-co.js';
import { missingReason, titleWithReason } from './oci-tools.js';

/**
 * Stories of KEP-2906 with kpt, which renders packages that `krmhub kpt sync` filled in as it renders those with images
 * written by hand. build-stories.test.ts lists all stories.
 */

const why = missingReason('kpt') ?? whyNoContainers();
const minutes = 60_000;

interface Entry {
  file: string;
  text: string;
  image?: string;
}

describe.skipIf(why !== undefined)(titleWithReason('the stories of KEP-2906 with kpt', why), () => {
  let company: ExampleCo;
  beforeAll(async () => {
    company = await ExampleCo.open();
    company.user.env.KPT_FN_RUNTIME = 'podman';
  }, 10 * minutes);
  afterAll(() => company?.close(), 2 * minutes);

  /** FunctionConfigs of a package need a name: kpt refuses resources without one. */
  const named = (text: string, name: string) =>
    text.replace(/(kind: .*\n)/, `$1metadata:\n  name: ${name}\n`);
  const java = () => ({ file: 'java.yaml', text: named(JAVA, 'java') });
  const secrets = () => ({ file: 'secrets.yaml', text: named(SECRETS, 'secrets') });

  function writePackage(folder: string, catalog: string, entries: readonly Entry[]): void {
    const pipeline = entries.map(
      ({ file, image }) =>
        `    - ${image === undefined ? '' : `image: ${image}\n      `}configPath: ${file} # in order\n`,
    );
    company.user.write({
      [`${folder}/Kptfile`]: `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
  annotations:
    config.kubernetes.io/local-config: "true"
    krmhub.dev/catalogs: ${catalog}
pipeline:
  mutators:
${pipeline.join('')}`,
      ...Object.fromEntries(entries.map(({ file, text }) => [`${folder}/${file}`, text])),
    });
  }

  /** The files of a package by their names in it. */
  const contents = (folder: string) =>
    Object.fromEntries(
      Object.entries(company.user.snapshot(folder)).map(([file, text]) => [
        file.slice(file.indexOf(`/${folder}/`) + folder.length + 2),
        text,
      ]),
    );

  /** Fills in a package, and renders it and the one that has the images. Returns its files. */
  async function sameAsByHand(
    name: string,
    catalog: string,
    entries: readonly Entry[],
    { images, sync, flags = [] }: { images: readonly string[]; sync: readonly string[]; flags?: string[] },
  ): Promise<{ rendered: Record<string, string>; warnings: string }> {
    const { user } = company;
    const hand = `${name}-by-hand`;
    writePackage(name, catalog, entries);
    writePackage(
      hand,
      catalog,
      entries.map((entry, at) => ({ ...entry, image: images[at]! })),
    );
    const { stderr } = await succeeded(user.krmhub('kpt', 'sync', name, ...sync));
    expect(contents(name)).toEqual(contents(hand));
    for (const folder of [name, hand]) {
      await succeeded(user.run('kpt', ['fn', 'render', folder, ...flags]));
    }
    const rendered = contents(name);
    expect({ ...rendered, Kptfile: '' }).toEqual({ ...contents(hand), Kptfile: '' });
    await succeeded(user.krmhub('kpt', 'sync', name, '--check', ...sync));
    return { rendered, warnings: stderr };
  }
  const DEPLOYED = 'deployment_my-app.yaml';

  it.each([
    ['a file on a web server', () => company.catalogUrl],
    ['a catalog of a registry', () => company.platform],
  ])(
    '1 and 2: %s, copied into the package and named on the command line',
    async (title, url) => {
      const { user, images } = company;
      const folder = title.replaceAll(' ', '-');
      user.write({ 'catalog.yaml': company.catalogText });
      writePackage(`${folder}-refused`, '../catalog.yaml', [java(), secrets()]);
      const refused = await user.krmhub('kpt', 'sync', `${folder}-refused`);
      expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('--trusted-catalog')]);
      const { rendered } = await sameAsByHand(folder, '../catalog.yaml', [java(), secrets()], {
        images: [images.java.pinned, images.secrets.pinned],
        sync: [`--catalog=${url()}`],
      });
      expect(rendered[DEPLOYED]).toMatch(/made-by: java\n.*secrets: "v1"|secrets: "v1"\n.*made-by: java/s);
    },
    5 * minutes,
  );

  it(
    '3: a pipeline that pins one function itself',
    async () => {
      const { images, catalogUrl } = company;
      const old = images['secrets-old'].tagged;
      const pinned = `${secrets().text}runtime: {container: {image: ${old}}}\n`;
      const logger =
        'apiVersion: example.com/v1\nkind: Logger\nmetadata:\n  name: my-logger\nspec:\n  logPath: /var/logs\n';
      const entries = [java(), { file: 'logger.yaml', text: logger }, { file: 'secrets.yaml', text: pinned }];
      const { rendered } = await sameAsByHand('pinned', catalogUrl, entries, {
        images: [images.java.pinned, images.logger.pinned, old],
        sync: ['--trusted-catalog', catalogUrl],
      });
      expect(rendered[DEPLOYED]).toContain('logger: "v1"');
      expect(rendered[DEPLOYED]).toContain('secrets: "v0.9"');
    },
    5 * minutes,
  );

  it(
    '7: functions of three publishers, from one catalog',
    async () => {
      const { images, aggregated } = company;
      const config = (kind: string, group: string) => ({
        file: `${kind.toLowerCase()}.yaml`,
        text: `apiVersion: ${group}/v1\nkind: ${kind}\nmetadata:\n  name: ${kind.toLowerCase()}\n`,
      });
      const { rendered, warnings } = await sameAsByHand(
        'aggregated',
        aggregated,
        [java(), config('Split', 'banana.co'), config('Salt', 'watermelon.co')],
        {
          images: [images['java-with-access'].pinned, images.split.pinned, images.salt.pinned],
          sync: ['--trusted-catalog', aggregated],
          flags: ['--allow-network'],
        },
      );
      expect(warnings).toContain('--allow-network');
      expect(warnings).toContain('it requires mounts, which kpt fn render does not support');
      for (const text of ['replicas: 2', 'split: "v1"', 'salt: "v1"'])
        expect(rendered[DEPLOYED]).toContain(text);
    },
    5 * minutes,
  );
});

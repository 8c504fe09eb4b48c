import { get } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WEB_ROUTES } from '../apps/registry/src/web/web-routes.js';
import { EMPTY_PAGES, OPERATOR_PAGES, SAMPLE_PAGES } from './browser/sample-pages.js';
import { type SampleSite, startEmptySite, startSampleSite } from './browser/sample-site.js';

/** Bytes of a first visit: the page, and the files that it loads at once, all with gzip. */
const MAX_BYTES = 20_480;
/** The same for the audit log, whose rows have request IDs and digests. Operator pages are not compressed. */
const MAX_AUDIT_BYTES = 28_672;
/** Routes of pages that have tests of their own under test/browser, and of what is not a page. */
const NOT_SAMPLED = new Set([
  // Sign in with a provider or a device, and tokens.
  ...['startSignIn', 'finishSignIn', 'finishOtherSignIn', 'deviceLoginPage'],
  ...['createdTokenPage', 'revokeTokenPage'],
  // Files, images, feeds, and what programs read.
  ...['asset', 'favicon', 'download', 'docsSamples', 'readmeImage', 'badge', 'functionCard'],
  ...['feedOfReleases', 'feedOfFunction', 'feedOfSnapshots', 'tryFunction', 'tryRelease', 'suggestions'],
  ...['openSearch', 'sitemapIndex', 'sitemap', 'robots', 'security'],
]);

let site: SampleSite;
let empty: SampleSite;
beforeAll(async () => {
  [site, empty] = await Promise.all([startSampleSite({ hostile: false }), startEmptySite()]);
});
afterAll(() => Promise.all([site?.close(), empty?.close()]));

/** Not with `fetch`, which hides the size of what it decompresses. */
function download(url: string, cookie = ''): Promise<{ text: string; bytes: number }> {
  const headers = { Accept: 'text/html, */*;q=0.5', 'Accept-Encoding': 'gzip', Cookie: cookie };
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => void pieces.push(piece));
      response.on('error', reject);
      response.on('end', () => {
        const body = Buffer.concat(pieces);
        const isGzip = response.headers['content-encoding'] === 'gzip';
        resolve({ text: (isGzip ? gunzipSync(body) : body).toString(), bytes: body.byteLength });
      });
    }).on('error', reject);
  });
}

async function signIn(): Promise<string> {
  const response = await fetch(`${site.url}/sign-in`, {
    method: 'POST',
    headers: { Origin: site.url },
    body: new URLSearchParams({ token: site.token }),
    redirect: 'manual',
  });
  expect(response.status).toBe(303);
  return response.headers.getSetCookie()[0]!.split(';')[0]!;
}

it(`every page has at most ${MAX_BYTES} bytes with its styles and scripts`, {
  timeout: 120_000,
}, async () => {
  const cookie = await signIn();
  const pages: { url: string; cookie?: string }[] = [
    ...Object.values(SAMPLE_PAGES).map((path) => ({ url: site.url + path })),
    ...Object.values(EMPTY_PAGES).map((path) => ({ url: empty.url + path })),
    ...OPERATOR_PAGES.map((path) => ({ url: `${site.url}/operate${path}`, cookie })),
  ];
  const sizes = new Map<string, number>();
  const files = new Map<string, number>();
  // The documentation and the reference of the API are small: all their pages are read.
  for (const { url, cookie = '' } of pages) {
    if (sizes.has(url)) continue;
    const { text, bytes } = await download(url, cookie);
    let whole = bytes;
    // A browser loads a file once, also if a page names it twice.
    const named = new Set([...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!));
    for (const path of named) {
      const file = new URL(path, url).href;
      if (!files.has(file)) files.set(file, (await download(file)).bytes);
      whole += files.get(file)!;
    }
    sizes.set(url, whole);
    for (const [, path] of text.matchAll(/href="(\/(?:docs|api)\/[^"#?]+)/g))
      pages.push({ url: site.url + path });
  }
  expect(sizes.size).toBeGreaterThan(Object.keys(SAMPLE_PAGES).length + OPERATOR_PAGES.length + 50);
  expect(files.size).toBeGreaterThan(4);
  const limit = (url: string) => (url.endsWith('/operate/audit') ? MAX_AUDIT_BYTES : MAX_BYTES);
  expect([...sizes].filter(([url, bytes]) => bytes > limit(url))).toEqual([]);
  if (process.env.KRMHUB_TEST_SIZES !== undefined)
    console.log([...sizes].sort(([, a], [, b]) => b - a).slice(0, 20));
});

it('the sample pages cover every page', () => {
  const paths = [...Object.values(SAMPLE_PAGES), ...OPERATOR_PAGES.map((path) => `/operate${path}`)].map(
    (path) => path.split('?')[0]!,
  );
  const missing = WEB_ROUTES.filter(([, { method, path }]) => {
    const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`);
    return method === 'get' && !paths.some((one) => pattern.test(one));
  });
  expect(new Set(missing.map(([name]) => name))).toEqual(NOT_SAMPLED);
});

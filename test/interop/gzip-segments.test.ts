import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { crc32, gunzipSync } from 'node:zlib';
import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  deflateSegment,
  GZIP_HEADER,
  gzipTrailer,
  storedBlocks,
} from '../../apps/registry/src/catalogs/segments/gzip.js';
import { chromiumFile, startChromium } from '../browser/chromium.js';
import { missingReason, titleWithReason } from './oci-tools.js';

/** Clients read the gzip of joined segments as one whole document, with their own decoders. */

const GO = `package main
import ("crypto/sha256"; "fmt"; "io"; "net/http"; "os")
func main() {
  response, err := http.Get(os.Args[1])
  if err != nil { panic(err) }
  if !response.Uncompressed { panic("not compressed") }
  hash := sha256.New()
  if _, err := io.Copy(hash, response.Body); err != nil { panic(err) }
  fmt.Printf("sha256:%x", hash.Sum(nil))
}
`;
const PYTHON = `import gzip, hashlib, sys, urllib.request
request = urllib.request.Request(sys.argv[1], headers={"Accept-Encoding": "gzip"})
response = urllib.request.urlopen(request)
assert response.headers["Content-Encoding"] == "gzip"
print("sha256:" + hashlib.sha256(gzip.decompress(response.read())).hexdigest(), end="")
`;

const run = promisify(execFile);

let folder: string;
let server: Server;
let url: string;
let plain: Buffer;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'krmhub-gzip-'));
  const segments = Array.from({ length: 40 }, (_, at) =>
    // Also bytes that cannot be compressed, and empty segments.
    at % 10 === 0
      ? randomBytes(70_000 * (at / 10))
      : Buffer.from(`- name: function-${at}\n`.repeat(at * 300)),
  );
  const [head, between, end] = ['apiVersion: v1\n', ',\n', '\n]}}\n'].map((text) => Buffer.from(text));
  plain = Buffer.concat([
    head!,
    ...segments.flatMap((segment, at) => (at === 0 ? [segment] : [between!, segment])),
    end!,
  ]);
  const compressed = await Promise.all(segments.map((text) => deflateSegment(text)));
  const stored = storedBlocks(between!, { final: false });
  const bytes = Buffer.concat([
    GZIP_HEADER,
    storedBlocks(head!, { final: false }),
    ...compressed.flatMap((segment, at) => (at === 0 ? [segment] : [stored, segment])),
    storedBlocks(end!, { final: true }),
    gzipTrailer({ bytes: plain.byteLength, crc32: crc32(plain) }),
  ]);
  expect(gunzipSync(bytes).equals(plain)).toBe(true);
  server = createServer((request, response) => {
    if (request.url !== '/catalog.yaml') response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>');
    else
      response.writeHead(200, { 'Content-Type': 'application/yaml', 'Content-Encoding': 'gzip' }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/catalog.yaml`;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('joined segments are read', () => {
  const withoutCurl = missingReason('curl');
  it.skipIf(withoutCurl !== undefined)(titleWithReason('by curl', withoutCurl), async () => {
    const file = path.join(folder, 'curl');
    await run('curl', ['--fail', '--silent', '--compressed', '--output', file, url]);
    const { stdout } = await run('sha256sum', [file]);
    expect(`sha256:${stdout.split(' ')[0]}`).toBe(sha256(plain));
  });

  const withoutPython = missingReason('python3');
  it.skipIf(withoutPython !== undefined)(titleWithReason('by Python', withoutPython), async () => {
    const { stdout } = await run('python3', ['-c', PYTHON, url]);
    expect(stdout).toBe(sha256(plain));
  });

  const withoutGo = missingReason('go');
  it.skipIf(withoutGo !== undefined)(titleWithReason('by Go', withoutGo), async () => {
    const file = path.join(folder, 'main.go');
    writeFileSync(file, GO);
    const { stdout } = await run('go', ['run', file, url]);
    expect(stdout).toBe(sha256(plain));
  });

  const withoutChromium = chromiumFile === undefined ? missingReason('chromium') : undefined;
  it.skipIf(withoutChromium !== undefined)(titleWithReason('by a browser', withoutChromium), async () => {
    const browser = await startChromium();
    try {
      const page = await (await browser.newContext()).newPage();
      await page.goto(new URL('/', url).href);
      const size = await page.evaluate(
        async (address) => (await (await fetch(address)).arrayBuffer()).byteLength,
        url,
      );
      expect(size).toBe(plain.byteLength);
    } finally {
      await browser.close();
    }
  });
});

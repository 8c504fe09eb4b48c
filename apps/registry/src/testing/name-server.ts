import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** A name server on loopback that knows TXT records, and nothing else. */
export interface NameServer {
  /** Its address with the port. */
  address: string;
  /** Texts by name; change them at any time. A name with `undefined` gets no answer at all. */
  records: Map<string, string[] | undefined>;
  /** The names that it was asked for. */
  asked: string[];
  close(): Promise<void>;
}

const TXT = 16;

/** Answers questions by RFC 1035: section 4 has the format of messages. */
export async function startNameServer(): Promise<NameServer> {
  const records = new Map<string, string[] | undefined>();
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (message, { address, port }) => {
    const { name, end } = readName(message);
    asked.push(name);
    if (records.has(name) && records.get(name) === undefined) return;
    const isTxt = message.readUInt16BE(end) === TXT;
    const texts = isTxt ? (records.get(name) ?? []) : [];
    const header = Buffer.alloc(12);
    message.copy(header, 0, 0, 2);
    // A response without recursion; NXDOMAIN for an unknown name.
    header.writeUInt16BE(records.has(name) ? 0x8180 : 0x8183, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(texts.length, 6);
    const answers = texts.map(txtRecord);
    socket.send(Buffer.concat([header, message.subarray(12, end + 4), ...answers]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    records,
    asked,
    async close() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function readName(message: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at]!; length !== 0; length = message[at]!) {
    labels.push(message.toString('ascii', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join('.'), end: at + 1 };
}

/** The name is a pointer to that of the question. */
function txtRecord(text: string): Buffer {
  const parts = text.match(/.{1,200}/gs) ?? [''];
  const data = Buffer.concat(
    parts.map((part) => Buffer.concat([Buffer.from([part.length]), Buffer.from(part)])),
  );
  const head = Buffer.from([0xc0, 12, 0, TXT, 0, 1, 0, 0, 0, 0, 0, 0]);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

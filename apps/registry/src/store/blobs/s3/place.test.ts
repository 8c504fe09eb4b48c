import { describe, expect, it } from 'vitest';
import { describeS3Place, parseS3Url } from './place.js';

describe('parseS3Url', () => {
  it.each([
    ['s3://blobs', 'https://blobs.s3.us-east-1.amazonaws.com', ''],
    ['s3://blobs/', 'https://blobs.s3.us-east-1.amazonaws.com', ''],
    ['s3://blobs/team/hub/', 'https://blobs.s3.us-east-1.amazonaws.com', 'team/hub'],
    ['s3://blobs/hub?region=eu-central-1', 'https://blobs.s3.eu-central-1.amazonaws.com', 'hub'],
    ['s3://blobs?region=cn-north-1', 'https://blobs.s3.cn-north-1.amazonaws.com.cn', ''],
    ['s3://my.blobs/hub', 'https://s3.us-east-1.amazonaws.com/my.blobs', 'hub'],
    ['s3://blobs/hub?endpoint=http://localhost:7070', 'http://localhost:7070/blobs', 'hub'],
    [
      's3://blobs/hub?endpoint=https%3A%2F%2Fs3.example.com%2Fs3%2F&region=x',
      'https://s3.example.com/s3/blobs',
      'hub',
    ],
  ])('reads %s', (url, bucketUrl, prefix) => {
    expect(parseS3Url(url)).toMatchObject({ bucketUrl, prefix });
  });

  it('has the region of the URL before the default one', () => {
    expect(parseS3Url('s3://blobs', 'eu-west-1').region).toBe('eu-west-1');
    expect(parseS3Url('s3://blobs?region=eu-west-2', 'eu-west-1').region).toBe('eu-west-2');
    expect(describeS3Place(parseS3Url('s3://blobs/hub?region=eu-west-2'))).toBe('s3://blobs/hub');
    expect(describeS3Place(parseS3Url('s3://blobs'))).toBe('s3://blobs');
  });

  it.each([
    ['https://blobs', 'is not s3://BUCKET'],
    ['s3:///hub', 'bucket name'],
    ['s3://Blobs', 'bucket name'],
    ['s3://user:secret@blobs', 'bucket name'],
    ['s3://a..b', 'bucket name'],
    ['s3://blobs/../other', 'prefix'],
    ['s3://blobs/a//b', 'prefix'],
    ['s3://blobs/a b', 'prefix'],
    ['s3://blobs?endpont=http://localhost', 'unknown parameter endpont'],
    ['s3://blobs?endpoint=ftp://localhost', 'endpoint'],
    ['s3://blobs?endpoint=http://a:b@localhost', 'endpoint'],
    ['s3://blobs?endpoint=localhost', 'endpoint'],
    ['s3://blobs?region=a/b', 'region'],
    ['s3://blobs#hub', 'is not s3://BUCKET'],
  ])('rejects %s', (url, message) => {
    expect(() => parseS3Url(url)).toThrow(message);
  });
});

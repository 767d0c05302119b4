import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListMultipartUploadsCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { Readable } from 'node:stream';

import { createSemaphore } from '#core/base/concurrency/semaphore';
import { ObjectMissing, StoreBusy, assertKey, type ByteRange, type ObjectStore } from '#core/data/files/object-store';

export type S3Options = {
  /** Undefined for AWS itself. */
  endpoint: string | undefined;
  bucket: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** `https://host/bucket/key` instead of `https://bucket.host/key`. */
  forcePathStyle: boolean;
};

const minPartBytes = 5 * 1024 * 1024;
const maxParts = 10_000;
/** Each upload holds one part in memory while it is sent and collects the next, for as long as its sender likes. */
const maxUploads = { tenant: 8, process: 64 };

/** Objects in a bucket of any S3-compatible service. */
export function createS3Store(options: S3Options): ObjectStore {
  const client = openClient(options);
  const { bucket: Bucket } = options;
  const uploads = createSemaphore();
  return {
    admit: (key) =>
      Promise.try(() => {
        assertKey(key);
        // Slow senders hold their permits for long, so those of one tenant must not hold all, and no upload waits for one.
        return uploads.acquireNow(
          { key: key.slice(0, key.indexOf('/')), max: maxUploads.tenant, refusal: StoreBusy },
          { key: 'process', max: maxUploads.process, refusal: StoreBusy },
        );
      }),
    async put(key, source, sizeBytes) {
      assertKey(key);
      try {
        const partSize = Math.max(minPartBytes, Math.ceil(sizeBytes / maxParts));
        const params = { Bucket, Key: key, Body: source };
        await new Upload({ client, params, partSize, queueSize: 1, leavePartsOnError: false }).done();
      } catch (error) {
        source.destroy();
        throw error;
      }
    },
    async get(key, range) {
      assertKey(key);
      try {
        const answer = await client.send(new GetObjectCommand({ Bucket, Key: key, Range: rangeHeader(range) }));
        return answer.Body as Readable;
      } catch (error) {
        if ((error as Error).name === 'NoSuchKey') throw new ObjectMissing('', { cause: error });
        throw error;
      }
    },
    async delete(key) {
      assertKey(key);
      await abortUnfinished(client, Bucket, key);
      await client.send(new DeleteObjectCommand({ Bucket, Key: key }));
    },
    async check(signal) {
      await client.send(new HeadBucketCommand({ Bucket }), { abortSignal: signal });
    },
    close() {
      client.destroy();
      return Promise.resolve();
    },
  };
}

function openClient(options: S3Options): S3Client {
  const { endpoint, region, forcePathStyle, accessKeyId, secretAccessKey } = options;
  return new S3Client({
    ...(endpoint === undefined ? {} : { endpoint }),
    region,
    forcePathStyle,
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 3,
    // Checksums beyond the specification's are asked for by AWS only; others refuse or misread them.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: 3000,
      requestTimeout: 60_000,
      throwOnRequestTimeout: true,
      socketTimeout: 30_000,
      httpAgent: { maxSockets: 200 },
      httpsAgent: { maxSockets: 200 },
    },
  });
}

function rangeHeader(range: ByteRange | undefined): string | undefined {
  return range === undefined ? undefined : `bytes=${range.start}-${range.end}`;
}

/** Parts of an upload that was never completed cost money and are in no listing of objects. */
async function abortUnfinished(client: S3Client, Bucket: string, key: string): Promise<void> {
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: key }));
  for (const { Key, UploadId } of Uploads) {
    if (Key === key) await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
  }
}

const oids = { text: 25, timestamptz: 1184, uuid: 2950 } as const;

/** Of the array and of its only dimension: PostgreSQL, `array_recv`. */
const headBytes = 20;
/** Before each item: its length, or this. */
const lengthBytes = 4;
const nullLength = -1;
/** Of UTF-8, for each unit of a text. */
const bytesPerUnit = 3;

/** Room beyond this, which only unusually long items need, is given back. */
const maxKept = 1_000_000;

/**
 * An array as PostgreSQL reads it in binary, which costs it less than the text of one. It grows item by item and holds bytes,
 * because thousands of values that wait would be moved about in memory by each collection of garbage.
 */
abstract class BinaryArray<Value> {
  protected bytes: Buffer = Buffer.alloc(0);
  readonly #oid: number;
  /** Where each item ends. */
  #ends: number[] = [];
  #end = headBytes;
  /** The newest, since most values of a column are the same as the one before. */
  #latest: Value | null | undefined;

  constructor(oid: number) {
    this.#oid = oid;
  }

  /** Maximum number of bytes of an item. */
  protected abstract sizeOf(value: Value): number;
  /** @returns how many bytes it took */
  protected abstract write(value: Value, at: number): number;

  push(value: Value | null): void {
    const start = this.#end;
    if (value === this.#latest) this.#repeat();
    else if (value === null) this.#end = this.#reserve(0).writeInt32BE(nullLength, start);
    else {
      const bytes = this.#reserve(this.sizeOf(value));
      const size = this.write(value, start + lengthBytes);
      this.#end = bytes.writeInt32BE(size, start) + size;
    }
    this.#latest = value;
    this.#ends.push(this.#end);
  }

  pop(): void {
    this.#ends.pop();
    this.#end = this.#ends.at(-1) ?? headBytes;
    this.#latest = undefined;
  }

  /** Forgets all items, and keeps their room for the next. */
  clear(): void {
    this.#ends.length = 0;
    this.#end = headBytes;
    this.#latest = undefined;
    if (this.bytes.length > maxKept) this.bytes = Buffer.alloc(0);
  }

  /** Puts some of the items into an empty array of the same kind. */
  copy(from: number, to: number, target: this): void {
    const start = this.#startOf(from);
    target.bytes = Buffer.concat([Buffer.alloc(headBytes), this.bytes.subarray(start, this.#startOf(to))]);
    target.#ends = this.#ends.slice(from, to).map((end) => end - start + headBytes);
    target.#end = target.bytes.length;
    target.#latest = undefined;
  }

  /** Good until the next change. */
  toBuffer(): Buffer {
    const { length } = this.#ends;
    const head = this.#reserve(0);
    const [dimensions, hasNulls, lowerBound] = [1, 1, 1];
    [dimensions, hasNulls, this.#oid, length, lowerBound].forEach((value, at) => head.writeInt32BE(value, 4 * at));
    return head.subarray(0, this.#end);
  }

  #startOf(index: number): number {
    return index === 0 ? headBytes : this.#ends[index - 1]!;
  }

  #repeat(): void {
    const start = this.#startOf(this.#ends.length - 1);
    const size = this.#end - start;
    this.#reserve(size).copyWithin(this.#end, start, this.#end);
    this.#end += size;
  }

  #reserve(size: number): Buffer {
    const min = this.#end + lengthBytes + size;
    if (min > this.bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(min, 2 * this.bytes.length));
      this.bytes.copy(grown, 0, 0, Math.min(this.#end, this.bytes.length));
      this.bytes = grown;
    }
    return this.bytes;
  }
}

/** Texts without NUL, which PostgreSQL keeps in none. */
export class TextArray extends BinaryArray<string> {
  constructor() {
    super(oids.text);
  }

  protected sizeOf(text: string): number {
    return bytesPerUnit * text.length;
  }

  protected write(text: string, at: number): number {
    return this.bytes.write(text.includes('\0') ? text.replaceAll('\0', '') : text, at);
  }
}

/** Value of a character as a hexadecimal digit. */
const nibbles = Uint8Array.from({ length: 128 }, (_, code) => Number.parseInt(String.fromCharCode(code), 16) || 0);
/** Where the two digits of each byte of a uuid stand. */
const digitPairs = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/** Uuids as texts with their hyphens. The text is not validated: an invalid one becomes a different uuid. */
export class UuidArray extends BinaryArray<string> {
  constructor() {
    super(oids.uuid);
  }

  protected sizeOf(): number {
    return digitPairs.length;
  }

  protected write(uuid: string, at: number): number {
    const { bytes } = this;
    for (let index = 0; index < digitPairs.length; index++) {
      const pair = digitPairs[index]!;
      bytes[at + index] = (nibbles[uuid.charCodeAt(pair)]! << 4) | nibbles[uuid.charCodeAt(pair + 1)]!;
    }
    return digitPairs.length;
  }
}

/** The epoch of PostgreSQL timestamps. */
const epochMs = Date.UTC(2000, 0, 1);

/** Times in milliseconds since 1970, for `timestamptz`. */
export class TimeArray extends BinaryArray<number> {
  constructor() {
    super(oids.timestamptz);
  }

  protected sizeOf(): number {
    return 8;
  }

  protected write(ms: number, at: number): number {
    this.bytes.writeBigInt64BE(BigInt(ms - epochMs) * 1000n, at);
    return 8;
  }
}

import type { Database } from '#core/data/db/database';
import { openConsole, type Output } from '#core/data/log/console';
import { consoleFormatter } from '#core/data/log/console-lines';
import { defaultLogConfig, levelNumbers, logLevels, type LogConfig, type LogLevel } from '#core/data/log/log-config';
import { toConsoleLine, toWaitingLine, writeLine, type About, type LogLine } from '#core/data/log/log-line';
import { createLogStore, type LogState, type LogStore } from '#core/data/log/log-store';
import { redactText, toLoggable } from '#core/data/log/redaction';

type Write = { (message: string): void; (fields: object, message?: string): void };

type Part = {
  /** Which part of the service speaks: its level is configured by this name. */
  service: string;
  /** `none` for lines whose fields are all our own words and ids: nothing in them is searched for secrets. */
  redaction?: 'none';
};

/** Where everything that the service says goes. Lines are JSON objects; secrets in them are blanked by name and by pattern. */
export type Log = Readonly<Record<LogLevel, Write>> & {
  /** The log of a part; asked twice, the same. */
  child(part: Part & { redaction: 'none' }): Log & OwnLog;
  child(part: Part): Log;
};

/** For a part whose ids this service creates: they are passed apart, so that lines need not be searched for ids. */
export type OwnLog = Readonly<Record<LogLevel, (fields: object, message: string, about: About) => void>>;

/** The log of a process together with what decides where its lines go: console, database, both or nowhere. */
export type Logging = {
  log: Log;
  /** Takes effect with the next line. */
  configure(config: LogConfig): void;
  /** The parts that have a log, with the level that is in force for each. */
  levels(): Record<string, LogLevel>;
  /** Stores lines in the database too, including the earlier ones. */
  connect(database: Database): void;
  /** State of the log store. */
  state(): LogState;
  /** Writes to the database what waits for it. */
  flush(): Promise<void>;
  /** Writes what waits; afterwards lines go to the console only. */
  close(): Promise<void>;
};

type Options = {
  /** LOG_LEVEL: for parts without a configured level. `silent` disables the console. */
  level: string;
  destination?: Output;
  /** Other processes write to the same standard output. */
  sharesOutput?: boolean;
};

/** What becomes of the lines of one part, level by level. */
type Channel = { service: string; onConsole: Set<LogLevel>; inDatabase: Set<LogLevel> };

const consoleOnly = 'log';

export function createLogging(options: Options): Logging {
  return new ProcessLog(options);
}

class ProcessLog implements Logging {
  readonly log: Log;
  readonly #level: string;
  readonly #output: Output;
  readonly #store: LogStore;
  readonly #channels = new Map<string, Channel>();
  readonly #logs = new Map<string, Log>();
  #config = defaultLogConfig;
  #format = consoleFormatter(defaultLogConfig);

  constructor({ level, destination, sharesOutput = false }: Options) {
    this.#level = level;
    this.#output = destination ?? openConsole({ isShared: sharesOutput });
    this.log = this.#open({ service: 'service' });
    const own = this.#open({ service: consoleOnly });
    this.#store = createLogStore({
      report: {
        dropped: (dropped) =>
          this.log.warn({ dropped }, 'log lines came faster than they could be written; some are lost'),
        failed: (err, waiting) => own.warn({ err, waiting }, 'log lines could not be written; retrying'),
        refused: (err) => own.error({ err }, 'the database refused a log line'),
      },
    });
  }

  configure(config: LogConfig): void {
    this.#config = config;
    this.#format = consoleFormatter(config);
    this.#store.setPace(config.database);
    for (const channel of this.#channels.values()) this.#apply(channel);
  }

  levels(): Record<string, LogLevel> {
    const names = [...this.#channels.keys()].toSorted();
    return Object.fromEntries(names.map((name) => [name, levelOf(this.#config, name) ?? this.#standard]));
  }

  connect(database: Database): void {
    this.#store.connect(database);
  }

  state(): LogState {
    return this.#store.state();
  }

  flush(): Promise<void> {
    return this.#store.flush();
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  get #standard(): LogLevel {
    return this.#level === 'silent' ? 'info' : (this.#level as LogLevel);
  }

  #open({ service, redaction }: Part): Log {
    const name = `${service} ${redaction ?? ''}`;
    const known = this.#logs.get(name);
    if (known !== undefined) return known;
    const channel = this.#channels.get(service) ?? this.#openChannel(service);
    const write =
      (level: LogLevel): Write =>
      (first: string | object, second?: string, about?: About) => {
        if (!channel.onConsole.has(level) && !channel.inDatabase.has(level)) return;
        const at = Date.now();
        if (redaction === 'none' && typeof first === 'object') {
          this.#write(channel, { level, service, at, message: second ?? '', fields: first, about });
          return;
        }
        const { fields, message } = clean(first, second, this.#config.formatting.redactSensitive);
        this.#write(channel, { level, service, at, message, fields });
      };
    const writes = Object.fromEntries(logLevels.map((level) => [level, write(level)])) as Record<LogLevel, Write>;
    const log = { ...writes, child: (part: Part) => this.#open(part) };
    this.#logs.set(name, log);
    return log;
  }

  #openChannel(service: string): Channel {
    const channel: Channel = { service, onConsole: new Set(), inDatabase: new Set() };
    this.#channels.set(service, channel);
    this.#apply(channel);
    return channel;
  }

  #write({ onConsole, inDatabase }: Channel, line: LogLine): void {
    const written = writeLine(line);
    if (onConsole.has(line.level)) {
      const text = toConsoleLine(written);
      this.#output.write(this.#format === undefined ? text : this.#format(text));
    }
    if (inDatabase.has(line.level)) this.#store.add(toWaitingLine(written));
  }

  #apply(channel: Channel): void {
    const own = levelOf(this.#config, channel.service);
    const isSilent = own === undefined && this.#level === 'silent';
    const min = levelNumbers[own ?? this.#standard];
    const chosen = (section: { enabled: boolean; levels: readonly LogLevel[] }) =>
      section.enabled ? section.levels.filter((name) => levelNumbers[name] >= min) : [];
    channel.onConsole = new Set(isSilent ? [] : chosen(this.#config.console));
    channel.inDatabase = new Set(channel.service === consoleOnly ? [] : chosen(this.#config.database));
  }
}

function levelOf({ logLevels: levels }: LogConfig, service: string): LogLevel | undefined {
  return Object.hasOwn(levels, service) ? levels[service] : undefined;
}

const maxMessageLength = 8192;
/** Keys of every line; a field with such a name would overwrite it. */
const reserved = ['level', 'time', 'service', 'msg'];

function clean(first: unknown, second: unknown, redact: boolean): Pick<LogLine, 'fields' | 'message'> {
  const text = (value: unknown) => {
    if (typeof value !== 'string') return '';
    const known = value.slice(0, 4 * maxMessageLength);
    return (redact ? redactText(known) : known).slice(0, maxMessageLength);
  };
  if (typeof first !== 'object' || first === null) return { fields: {}, message: text(first) };
  const fields = toLoggable(first instanceof Error ? { err: first } : first, { redact });
  for (const name of reserved.filter((one) => Object.hasOwn(fields, one))) {
    fields[`field.${name}`] = fields[name];
    delete fields[name];
  }
  return { fields, message: text(second ?? (first instanceof Error ? first.message : undefined)) };
}

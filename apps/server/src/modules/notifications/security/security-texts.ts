import { plainName } from '#core/platform/mail/plain-name';
import type { Texts } from '#modules/notifications/notifications.types';

export type SecurityEvent =
  | 'login'
  | 'factor_enabled'
  | 'factor_disabled'
  | 'factors_reset'
  | 'backup_codes_replaced'
  | 'api_key_created'
  | 'api_key_rotated';

const languages = ['en', 'de', 'fr', 'es', 'it'] as const;
type Language = (typeof languages)[number];

type Facts = { subject: string; ip: string; browser: string; at: string };

/** `{}` is the placeholder for the affected object. */
const titles: Record<Language, Record<SecurityEvent, string>> = {
  en: {
    login: 'New login to your account',
    factor_enabled: 'Second factor set up: {}',
    factor_disabled: 'Second factor removed: {}',
    factors_reset: 'Your second factors were reset by an administrator',
    backup_codes_replaced: 'New backup codes were made',
    api_key_created: 'API key created: {}',
    api_key_rotated: 'API key rotated: {}',
  },
  de: {
    login: 'Neue Anmeldung bei Ihrem Konto',
    factor_enabled: 'Zweiter Faktor eingerichtet: {}',
    factor_disabled: 'Zweiter Faktor entfernt: {}',
    factors_reset: 'Ihre zweiten Faktoren wurden von der Verwaltung zurückgesetzt',
    backup_codes_replaced: 'Neue Wiederherstellungscodes wurden erzeugt',
    api_key_created: 'API-Schlüssel erstellt: {}',
    api_key_rotated: 'API-Schlüssel erneuert: {}',
  },
  fr: {
    login: 'Nouvelle connexion à votre compte',
    factor_enabled: 'Second facteur activé : {}',
    factor_disabled: 'Second facteur supprimé : {}',
    factors_reset: 'Vos seconds facteurs ont été réinitialisés par un administrateur',
    backup_codes_replaced: 'De nouveaux codes de secours ont été créés',
    api_key_created: 'Clé API créée : {}',
    api_key_rotated: 'Clé API renouvelée : {}',
  },
  es: {
    login: 'Nuevo inicio de sesión en su cuenta',
    factor_enabled: 'Segundo factor activado: {}',
    factor_disabled: 'Segundo factor eliminado: {}',
    factors_reset: 'Un administrador ha restablecido sus segundos factores',
    backup_codes_replaced: 'Se han creado nuevos códigos de recuperación',
    api_key_created: 'Clave de API creada: {}',
    api_key_rotated: 'Clave de API renovada: {}',
  },
  it: {
    login: 'Nuovo accesso al suo account',
    factor_enabled: 'Secondo fattore attivato: {}',
    factor_disabled: 'Secondo fattore rimosso: {}',
    factors_reset: 'Un amministratore ha reimpostato i suoi secondi fattori',
    backup_codes_replaced: 'Sono stati creati nuovi codici di recupero',
    api_key_created: 'Chiave API creata: {}',
    api_key_rotated: 'Chiave API rinnovata: {}',
  },
};

const advice: Record<Language, string> = {
  en: 'If this was not you, change your password and end your other sessions.',
  de: 'Falls Sie das nicht waren, ändern Sie Ihr Passwort und beenden Sie Ihre anderen Sitzungen.',
  fr: "Si ce n'était pas vous, changez votre mot de passe et terminez vos autres sessions.",
  es: 'Si no ha sido usted, cambie su contraseña y cierre sus otras sesiones.',
  it: 'Se non è stato lei, cambi la password e termini le altre sessioni.',
};

const labels: Record<Language, { at: string; ip: string; browser: string }> = {
  en: { at: 'Time', ip: 'Address', browser: 'Program' },
  de: { at: 'Zeit', ip: 'Adresse', browser: 'Programm' },
  fr: { at: 'Heure', ip: 'Adresse', browser: 'Programme' },
  es: { at: 'Hora', ip: 'Dirección', browser: 'Programa' },
  it: { at: 'Ora', ip: 'Indirizzo', browser: 'Programma' },
};

/** Texts of security notifications in all languages of the product. */
export function textsOf(event: SecurityEvent, facts: Facts): Record<Language, Texts> {
  const texts = languages.map((language) => [language, textsIn(language, event, facts)] as const);
  return Object.fromEntries(texts) as Record<Language, Texts>;
}

function textsIn(language: Language, event: SecurityEvent, { subject, ip, browser, at }: Facts): Texts {
  const { [language]: label } = labels;
  const lines = [
    `${label.at}: ${at.slice(0, 16).replace('T', ' ')} UTC`,
    `${label.ip}: ${ip}`,
    ...(browser === '' ? [] : [`${label.browser}: ${browser}`]),
  ];
  // A function, because a name may contain replacement patterns such as `$&`.
  const title = titles[language][event].replace('{}', () => plainName(subject));
  return { title, body: `${lines.join('\n')}\n\n${advice[language]}` };
}

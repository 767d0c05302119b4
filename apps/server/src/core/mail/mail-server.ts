import nodemailer from 'nodemailer';

const patienceMs = 1000;

/**
 * Greets the mail server of SMTP_URL, and logs in where the URL says as whom; nothing is sent.
 * @throws Error where no mail server answers in time, or where it refuses.
 */
export async function greetMailServer(smtpUrl: string): Promise<void> {
  const patience = { connectionTimeout: patienceMs, greetingTimeout: patienceMs, socketTimeout: patienceMs };
  const transport = nodemailer.createTransport({ url: smtpUrl, ...patience });
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
}

import { defineModule } from '#core/http/route';
import { AppAccountEmailTaken } from '#modules/app-accounts/app-accounts.errors';
import { appAccountRoutes } from '#modules/app-accounts/app-accounts.routes';

/** Accounts for applications, which log in with a password and hold flags. */
export const appAccountsModule = defineModule({
  name: 'app-accounts',
  description: 'Accounts for applications, which log in with a password and hold flags',
  constraints: { app_account_directory_pkey: AppAccountEmailTaken },
  routes: appAccountRoutes,
});
